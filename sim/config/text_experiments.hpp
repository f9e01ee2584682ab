// Experiments that are in no file, for functions that take the path of one.
#pragma once

#include <optional>
#include <string>

namespace distsim::config {

/// A text that parse_experiment() reads as if it were in a file, as long as this lives. May be used by several threads.
class TextExperiment {
 public:
  /// `file`: what messages call it, and the folder that its paths start from.
  TextExperiment(std::string text, const std::string& file);
  ~TextExperiment();
  TextExperiment(const TextExperiment&) = delete;
  TextExperiment& operator=(const TextExperiment&) = delete;

  /// What stands for the path: `file` with a number that makes it the only one.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The text of a TextExperiment; nothing where `path` is none of them.
std::optional<std::string> text_of_experiment(const std::string& path);

}  // namespace distsim::config
