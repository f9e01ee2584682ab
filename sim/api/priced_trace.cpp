#include "sim/api/priced_trace.hpp"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "sim/config/flag_sets.hpp"
#include "sim/opgraph/op_graph.hpp"
#include "sim/pipeline/pipeline.hpp"

namespace distsim::api {
namespace {

constexpr std::string_view kTraceKey = "model.graph.file";

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

/// Of an error of the key that the trace is given by, which nobody wrote: that of the trace.
Error in_words_of_trace(Error error, const std::string& trace, const std::string& path) {
  if (error.where != "--set " + std::string(kTraceKey)) return error;
  std::string_view what = error.what;
  for (const std::string& part : {std::string(kTraceKey), path}) {
    if (what.starts_with(part + ": ")) what.remove_prefix(part.size() + 2);
  }
  const std::string all = opgraph::list_of_formats();
  std::string said(what);
  if (const std::size_t at = said.rfind(all); at != std::string::npos)
    said.replace(at, all.size(), "an execution trace");
  return {"--priced: " + said, trace, std::move(error.hint)};
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
  const std::string path = std::filesystem::absolute(traces.front()).lexically_normal().string();
  const std::vector<std::string> all = config::with_flags(
      sets, {{"--priced", "model.kind", "graph"}, {"--priced", std::string(kTraceKey), config::single_quoted(path)}});
  pipeline::Passes passes;
  auto prediction = pipeline::predict(config, all, passes);
  if (!prediction.ok()) return in_words_of_trace(prediction.error(), traces.front(), path);
  return std::move(prediction->report);
}

}  // namespace distsim::api
