// Between the public headers and the folders below: experiments become what these take, an Error becomes an exception.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"
#include "base/threads/stop.hpp"
#include "sim/api/public/experiment.hpp"
#include "sim/config/text_experiments.hpp"
#include "sim/study/idle/without_effect.hpp"

namespace distsim::api {

/// Error: it has neither a file nor a text.
Result<void> check_given(const Experiment& experiment);

/// An experiment by the path that functions of lower folders take: the file's, or one that stands for the text.
class ExperimentPath {
 public:
  explicit ExperimentPath(const Experiment& experiment);
  const std::string& path() const { return path_; }
  /// With the experiment's own name in place of path().
  Error named(Error error) const;
  std::string named(std::string text) const;

 private:
  std::string own_, path_;
  std::optional<config::TextExperiment> text_;
};

/// Throws ConfigError; after a stop, Interrupted.
[[noreturn]] void throw_error(const Error& error);

/// Of $DISTSIM_CONFIGS; throws ConfigError.
void check_surroundings();

/// The command's "--max-played: no effect" about an argument of the library: "max_played: no effect".
std::vector<std::string> as_arguments(std::vector<std::string> lines);
std::vector<std::string> as_arguments(const std::vector<study::IdleArgument>& idle);
/// Whether one of them says the same of the same argument.
bool is_among(const std::vector<study::IdleArgument>& some, const study::IdleArgument& idle);
/// Both, each argument and what is said of it once.
std::vector<study::IdleArgument> joined(std::vector<study::IdleArgument> some,
                                        const std::vector<study::IdleArgument>& others);

/// The value of a Result, or its Error thrown.
template <class T>
T value_of(Result<T> result) {
  if (!result.ok()) throw_error(result.error());
  return std::move(result).value();
}
inline void value_of(const Result<void>& result) {
  if (!result.ok()) throw_error(result.error());
}

/// Lines that are made when they are first asked for; where `stop` ends that, with Interrupted, when they are asked for again.
/// May be used by several threads.
class LinesOnce {
 public:
  template <class Make>
  const std::vector<std::string>& lines(const Stop& stop, const Make& make) const {
    std::call_once(made_, [&] {
      const StopScope scope(stop, [] { throw Interrupted(); });
      std::vector<std::string> made = make();
      end_if_stopped();
      lines_ = std::move(made);
    });
    return lines_;
  }

 private:
  mutable std::once_flag made_;
  mutable std::vector<std::string> lines_;
};

/// What every call of the library does first: it checks the surroundings, and asks `stop` until it returns.
class Call {
 public:
  explicit Call(const Stop& stop) : scope_(stop, [] { throw Interrupted(); }) { check_surroundings(); }

 private:
  StopScope scope_;
};

}  // namespace distsim::api
