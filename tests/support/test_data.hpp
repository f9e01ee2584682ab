// Where tests find measured data: the full sets where they are at hand, else the samples of tests/data.
//
// The full sets lie in ../shared/data, or in the folder that the environment variable DISTSIM_TEST_DATA names; an empty
// or absent folder means the samples. A set (collectives, ops, traces, ...) is taken from one of the two as a whole,
// never mixed.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "test_paths.hpp"

namespace distsim::test {

inline std::string full_sets() {
  const char* named = std::getenv("DISTSIM_TEST_DATA");
  return named != nullptr ? named : root() + "/../shared/data";
}

inline std::string set_of(const std::string& relative) { return relative.substr(0, relative.find('/')); }

/// True where the set of `relative` ("ops" of "ops/conv2d.csv.gz") is the sample, whose bounds differ.
inline bool is_sample(const std::string& relative) {
  return !std::filesystem::exists(full_sets() + "/" + set_of(relative));
}

/// Path of a file or folder of a set. The samples of gzipped tables are plain text, without ".gz". Throws where the set
/// lacks it, so that a test fails and never skips.
inline std::string data(const std::string& relative) {
  const bool sample = is_sample(relative);
  std::string path = (sample ? root() + "/tests/data" : full_sets()) + "/" + relative;
  if (sample && path.ends_with(".gz") && !std::filesystem::exists(path)) path.resize(path.size() - 3);
  if (!std::filesystem::exists(path)) throw std::runtime_error("no test data at " + path);
  return path;
}

}  // namespace distsim::test
