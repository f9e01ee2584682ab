// Where tests find the project's files.
#pragma once

#include <string>

namespace distsim::test {

/// The folder of this checkout.
std::string root();
inline std::string config(const std::string& relative) { return root() + "/configs/" + relative; }

/// A fresh empty folder for a test's files, removed when the tests have ended.
std::string scratch_dir(const std::string& name);

}  // namespace distsim::test
