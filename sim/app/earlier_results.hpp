// Files of an earlier study, whose place one that predicted nothing does not take.
#pragma once

#include <string>
#include <vector>

namespace distsim::app {

class EarlierResults {
 public:
  /// `outputs`: the paths that are asked for; empty ones are not. Kept are those that are regular files, if `nothing` was
  /// predicted; what standard output goes to is none.
  EarlierResults(bool nothing, const std::vector<std::string>& outputs);
  /// Whether an output is asked for and may be written.
  bool gives_way(const std::string& path) const;
  /// "unchanged: a.csv, b.html" for the hint of the error; empty where none is kept.
  std::string unchanged() const;

 private:
  std::vector<std::string> kept_;
};

}  // namespace distsim::app
