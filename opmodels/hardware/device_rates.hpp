// DeviceRates: a DeviceSpec resolved into plain SI numbers, once per device, so that pricing an op does no look-ups by
// name.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "opmodels/hardware/arch_traits.hpp"
#include "sim/graph/op.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::opmodels {

class LearnedModels;
class References;
class RowTables;

struct DeviceRates {
  std::string name;
  std::array<double, graph::kDTypes>
      matrix{};  ///< flop/s at the clock before power limits, by DType; 0 where the device has no such matrix type
  std::array<double, graph::kDTypes>
      most{};  ///< flop/s that no product of the type passes: the peak, at boost or a lock, and kPeakTolerance; 0: no peak
  double vector_fp32 = 0;  ///< flop/s of the plain lanes, at the same clock
  double vector_fp16 = 0;
  double hbm = 0;  ///< bytes/s, data sheet
  double l2 = 0;   ///< bytes/s
  double l2_bytes = 0;
  double pcie = 0;  ///< bytes/s, per direction, usable
  double sms = 0;
  double clock = 0;           ///< Hz, before power limits
  double l2_clock = 0;        ///< Hz, of the L2 where the SMs mostly wait: boost, or the lock
  double floor = 0;           ///< seconds of an empty kernel
  double gap = 0;             ///< seconds between two queued kernels
  double capability = 0;      ///< 70, 80, 90, ...
  bool fp32_on_lanes = true;  ///< whether products of the type run on plain lanes, for want of a matrix unit for it
  bool fp64_on_lanes = false;
  ArchTraits traits;
  std::shared_ptr<const DeviceRates> described;  ///< of DeviceSpec::described, where there is one
  std::shared_ptr<const LearnedModels> learned;  ///< none: analytic models only
  std::shared_ptr<RowTables> row_tables;         ///< of row kernels, where there are learned models
  std::shared_ptr<const References> references;  ///< GPUs that learned times are carried from; none: on this very GPU
  bool warm =
      false;  ///< operands stay in L2 from one call to the next, as in a benchmark's loop; a training step's do not

  double streaming_hbm() const { return hbm * traits.hbm_efficiency; }
  double streaming_l2() const { return l2 * traits.l2_efficiency; }
};

/// Whether two devices have the same name, the same figures and learn from the same models.
bool same_rates(const DeviceRates& a, const DeviceRates& b);

/// Errors: a count, clock, bandwidth or peak that is missing, not positive or not finite.
Result<DeviceRates> device_rates(const topology::DeviceSpec& device);

/// Error "dtype: found fp8 on v100_sxm2_32gb, expected a matrix type of that device (fp64, fp32, fp16)" where it has no
/// such unit.
Result<void> check_matrix_dtype(const DeviceRates& device, graph::DType dtype);

/// Bytes of an element of a product's operands in memory: of fp4 half a byte and, of each 16, a byte of scale.
double operand_bytes(graph::DType dtype);

/// True where the product runs on plain FMA lanes (fp32, and fp64 before tensor cores for it).
bool uses_vector_lanes(const DeviceRates& device, graph::DType dtype);

/// Other kernels that a library may choose for a product, where they are faster.
struct OtherKernels {
  DeviceRates device;
  graph::DType dtype;
};

/// Of fp32 where a matrix unit multiplies it: the plain lanes of a GPU without that unit. Of tf32, which permits less
/// precision and does not ask for it: those of fp32. Nothing where the type has no such choice.
std::optional<OtherKernels> other_kernels(const DeviceRates& device, graph::DType dtype);

}  // namespace distsim::opmodels
