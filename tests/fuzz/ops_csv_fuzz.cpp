// Shapes files: `distsim cost op`, `calibrate ops` and `calibrate features` read them.
#include <sstream>

#include "fuzz_target.hpp"
#include "opmodels/csv/cost_csv.hpp"
#include "opmodels/learned/training_rows.hpp"
#include "opmodels/measured/op_calibration.hpp"
#include "sim/pipeline/device_models.hpp"

FUZZ_TARGET(ops_csv) {
  using namespace distsim;
  static pipeline::DeviceModels devices;
  const auto lookup = [](std::string_view gpu) { return devices(gpu); };
  const std::string all(text);
  std::istringstream priced(all), trained(all), measured(all);
  std::ostringstream out;
  fuzz::check_answer(opmodels::cost_csv(priced, "fuzz.csv", out, lookup));
  fuzz::check_answer(opmodels::training_rows(trained, "fuzz.csv", out, opmodels::LearnedKernel::product16, lookup));
  const auto models = devices("a100_sxm4_80gb");
  CHECK(models.ok());
  opmodels::OpCalibration calibration(
      **models, [](std::string_view) { return true; }, true);
  const auto added = calibration.add(measured, "fuzz.csv");
  fuzz::check_answer(added);
  if (added.ok()) fuzz::check_answer(calibration.table());
}
