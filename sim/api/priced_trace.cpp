#include "sim/api/priced_trace.hpp"

#include <filesystem>
#include <system_error>

#include "sim/pipeline/pipeline.hpp"

namespace distsim::api {
namespace {

/// A path as a value of --set, which is YAML.
std::string quoted_value(const std::string& path) {
  std::string out = "'";
  for (const char c : std::filesystem::absolute(path).string())
    out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

/// The traces of a job are a folder, or files that begin alike: RUN.0.et, RUN.1.et.
Result<void> check_is_one(const std::string& trace) {
  std::error_code error;
  const std::string first = trace + ".0.et", one = ", expected one execution trace: the recorded rank stands for all";
  if (std::filesystem::is_directory(trace, error)) return Error{"--priced: found a folder" + one, trace, ""};
  if (std::filesystem::exists(trace, error)) return {};
  if (std::filesystem::exists(first, error))
    return Error{"--priced: found the traces of several ranks" + one, trace, "such as " + first};
  return Error{"--priced: found no such file" + one, trace, ""};
}

}  // namespace

Result<report::Report> priced_trace(const std::vector<std::string>& traces, const std::string& config,
                                    const std::vector<std::string>& sets) {
  if (traces.size() != 1)
    return Error{"--priced: found " + std::to_string(traces.size()) +
                     " traces, expected one execution trace: the recorded rank stands for all",
                 "", ""};
  if (config.empty())
    return Error{"--priced: found no --config, expected the experiment whose cluster runs the trace", "", ""};
  TRY(check_is_one(traces.front()));
  std::vector<std::string> all = sets;
  all.push_back("model.kind=graph");
  all.push_back("model.graph.file=" + quoted_value(traces.front()));
  pipeline::Passes passes;
  TRY_ASSIGN(pipeline::Prediction prediction, pipeline::predict(config, all, passes));
  return std::move(prediction.report);
}

}  // namespace distsim::api
