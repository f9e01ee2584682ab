// Between the public headers and the folders below: experiments become what these take, an Error becomes an exception.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "base/result.hpp"
#include "base/threads/stop.hpp"
#include "sim/api/public/experiment.hpp"
#include "sim/config/text_experiments.hpp"

namespace distsim::api {

/// An experiment by the path that functions of lower folders take: the file's, or one that stands for the text.
class ExperimentPath {
 public:
  explicit ExperimentPath(const Experiment& experiment);
  const std::string& path() const { return path_; }
  /// With the experiment's own name in place of path().
  Error named(Error error) const;

 private:
  std::string own_, path_;
  std::optional<config::TextExperiment> text_;
};

/// Throws ConfigError; after a stop, Interrupted.
[[noreturn]] void throw_error(const Error& error);

/// Of $DISTSIM_CONFIGS; throws ConfigError.
void check_surroundings();

/// The value of a Result, or its Error thrown.
template <class T>
T value_of(Result<T> result) {
  if (!result.ok()) throw_error(result.error());
  return std::move(result).value();
}
inline void value_of(const Result<void>& result) {
  if (!result.ok()) throw_error(result.error());
}

/// What every call of the library does first: it checks the surroundings, and asks `stop` until it returns.
class Call {
 public:
  explicit Call(const Stop& stop) : scope_(stop, [] { throw Interrupted(); }) { check_surroundings(); }

 private:
  StopScope scope_;
};

}  // namespace distsim::api
