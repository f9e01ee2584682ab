// Case files of `distsim validate`: read, and the experiment of every row made.
#include <algorithm>
#include <sstream>

#include "fuzz_target.hpp"
#include "sim/study/validate/case_file.hpp"

FUZZ_TARGET(cases) {
  using namespace distsim;
  std::istringstream in{std::string(text)};
  const auto file = study::read_cases(in, "fuzz.csv");
  fuzz::check_answer(file);
  if (!file.ok()) return;
  for (std::size_t i = 0; i < std::min<std::size_t>(file->cases.size(), 4); ++i)
    fuzz::check_answer(study::experiment_of(*file, file->cases[i]));
}
