// Measured collectives in all their forms: curve files, text and binary, and the logs of nccl-tests, OSU and PARAM. What is
// read can be written, and is then read as the same.
#include "collectives/curves/curve_set.hpp"
#include "fuzz_target.hpp"

FUZZ_TARGET(curves) {
  using namespace distsim;
  const fuzz::MemoryFile file(text);
  for (const collectives::LogHints& hints : {collectives::LogHints{}, collectives::LogHints{.ranks = 16, .nodes = 2}}) {
    const auto read = collectives::read_curve_file(file.path(), hints);
    fuzz::check_answer(read);
    if (!read.ok()) continue;
    const std::string written = collectives::curve_text(*read);
    const auto again = collectives::parse_curve_text(written, "again");
    if (again.ok()) CHECK(collectives::curve_text(*again) == written);
  }
}
