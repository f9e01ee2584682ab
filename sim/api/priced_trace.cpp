#include "sim/api/priced_trace.hpp"

#include <filesystem>

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

}  // namespace

Result<report::Report> priced_trace(const std::vector<std::string>& traces, const std::string& config,
                                    const std::vector<std::string>& sets) {
  if (traces.size() != 1)
    return Error{"--priced: found " + std::to_string(traces.size()) +
                     " traces, expected one execution trace: the recorded rank stands for all",
                 "", ""};
  if (config.empty())
    return Error{"--priced: found no --config, expected the experiment whose cluster runs the trace", "", ""};
  std::vector<std::string> all = sets;
  all.push_back("model.kind=graph");
  all.push_back("model.graph.file=" + quoted_value(traces.front()));
  pipeline::Passes passes;
  TRY_ASSIGN(pipeline::Prediction prediction, pipeline::predict(config, all, passes));
  return std::move(prediction.report);
}

}  // namespace distsim::api
