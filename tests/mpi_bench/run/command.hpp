// Runs a command as a user would and keeps what it said.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/file.hpp"
#include "test_paths.hpp"

namespace distsim::test {

struct Finished {
  int code = -1;
  std::string out, err;
};

/// `command` through the shell; standard output and error end up in files of `dir`.
inline Finished run_command(const std::string& command, const std::string& dir) {
  const std::string out = dir + "/stdout", err = dir + "/stderr";
  const int status = std::system((command + " >" + out + " 2>" + err + " </dev/null").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, *read_file(out, 64 << 20), *read_file(err, 64 << 20)};
}

}  // namespace distsim::test
