// Traces on a page: what their iterations are made of, measured against replayed, and what-ifs.
#include <algorithm>
#include <utility>

#include "base/threads/stop.hpp"
#include "sim/chakra/replay_chakra.hpp"
#include "sim/profile/profile.hpp"
#include "sim/replay/doubt.hpp"
#include "sim/replay/replay_trace.hpp"
#include "sim/report/profile/profile_report.hpp"
#include "sim/web/answers/answers.hpp"
#include "sim/web/messages/body.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::web {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostTraceFiles = 256, kMostPatterns = 16, kMostSets = 32;
constexpr std::int64_t kMostReplayedBytes = 128'000'000;           ///< of a timeline to fetch
constexpr std::uint64_t kMostTraceText = std::uint64_t{8} << 30;   ///< once expanded
constexpr std::uint64_t kMostWholeTrace = std::uint64_t{1} << 30;  ///< of a file that has to be held as a whole
constexpr std::uint64_t kMostTraceRecords = 4'000'000;             ///< of a job, about 800 MB while it is read
constexpr std::size_t kMostProfile = std::size_t{2} << 20;         ///< bytes of JSON: of longer lists the beginning
constexpr std::size_t kMostPattern = 1'000;

std::string key_of(const std::vector<std::string>& paths, const std::string& steps) {
  std::string out = steps;
  for (const std::string& path : paths) (out += '\0') += path;
  return out;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

/// Files of a page without the folder that they are kept in: "/tmp/distsim-serve-1-x/3/rank0.json" as "rank0.json".
void take_out_folder(std::string& text, const std::string& folder) {
  if (folder.empty()) return;
  const std::string begin = folder + "/";
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    std::size_t end = at + begin.size();
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    text.erase(at, end < text.size() && text[end] == '/' ? end + 1 - at : begin.size());
  }
}

/// Flags of the command line by what a page has in their place.
std::string in_words_of_page(std::string text, const std::string& folder) {
  take_out_folder(text, folder);
  replace_all(text, "--measured-on", "measured on");
  replace_all(text, "--config", "the experiment");
  replace_all(text, "--remove", "kernels to remove");
  replace_all(text, "--fuse", "kernels to fuse");
  return text;
}

Error in_words_of_page(const Error& error, const std::string& folder) {
  return {in_words_of_page(error.what, folder), in_words_of_page(error.where, folder),
          in_words_of_page(error.hint, folder)};
}

std::string without_last_brace(const Json& json) {
  std::string out = dumped(json);
  out.pop_back();
  return out;
}

}  // namespace

/// The files that a page sent, or those of the command line.
Result<std::vector<std::string>> Answers::asked_traces(const Json& body) const {
  TRY_ASSIGN(const std::vector<std::string> ids, strings_in(body, "files", kMostTraceFiles));
  if (!ids.empty()) return uploads_.paths(ids);
  if (!given_traces_.empty()) return given_traces_;
  return unexpected("files", "the traces to look at");
}

Result<std::shared_ptr<const traces::TraceJob>> Answers::job_of(const std::vector<std::string>& paths,
                                                                const std::string& steps) {
  const std::string key = key_of(paths, steps);
  if (auto known = jobs_.find(key)) return known;
  traces::TraceOptions options;
  options.step_pattern = steps;
  options.max_bytes = kMostTraceText;
  options.max_whole = kMostWholeTrace;
  options.max_records = kMostTraceRecords;
  TRY_ASSIGN(traces::TraceJob read, traces::read_traces(paths, options));
  auto job = std::make_shared<const traces::TraceJob>(std::move(read));
  end_if_stopped();
  jobs_.keep(key, job);
  return std::shared_ptr<const traces::TraceJob>(std::move(job));
}

Result<std::string> Answers::trace_list(const Message& m) {
  return dumped({{"id", m.id}, {"type", "traces"}, {"given", given_traces_}});
}

/// The profile, and the replay with the measured costs where there is GPU work; of a Chakra job, that it is one.
Result<std::string> Answers::trace_profile(const Message& m, const Meanwhile& meanwhile) {
  const std::string folder = private_folder_.known_path();
  const auto asked = [&]() -> Result<std::string> {
    TRY_ASSIGN(const std::vector<std::string> paths, asked_traces(m.body));
    TRY_ASSIGN(const std::string steps, optional_string_in(m.body, "steps"));
    if (steps.size() > kMostPattern) return unexpected("steps", "at most 1000 characters");
    Json head{{"id", m.id}, {"type", "trace"}};
    if (chakra::names_chakra(paths)) {
      head["format"] = "chakra";
      return dumped(head);
    }
    const auto tell = [&](const char* what) {
      meanwhile.tell(dumped({{"id", m.id}, {"type", "progress"}, {"what", what}}));
      end_if_stopped();
    };
    tell("reading");
    TRY_ASSIGN(const auto job, job_of(paths, steps));
    tell("profiling");
    TRY_ASSIGN(profile::Profile profile, profile::make_profile(*job));
    profile.doubt = replay::doubt_of(*job, profile);
    const std::string text = report::profile_page_json(*job, profile, kMostProfile);
    tell("replaying");
    const auto replayed = replay::replayed_json({}, *job);
    head["format"] = "profiler";
    if (!replayed.ok()) head["no_replay"] = replayed.error().text();
    return without_last_brace(head) + ",\"profile\":" + text + (replayed.ok() ? ",\"replay\":" + *replayed : "") + "}";
  };
  Result<std::string> out = asked();
  if (!out.ok()) return in_words_of_page(out.error(), folder);
  take_out_folder(*out, folder);
  return out;
}

/// What-ifs, and Chakra jobs: {"text" of the experiment to move to, or none; "measured_on", "ranks", "remove", "fuse", "sets"}.
/// With "timeline": true, a file to fetch instead of the result.
Result<std::string> Answers::trace_replay(const Message& m, const Meanwhile& meanwhile) {
  const std::string folder = private_folder_.known_path();
  const auto asked = [&]() -> Result<std::string> {
    TRY_ASSIGN(const std::vector<std::string> paths, asked_traces(m.body));
    TRY_ASSIGN(const std::string steps, optional_string_in(m.body, "steps"));
    replay::TraceReplay what;
    TRY_ASSIGN(what.measured_on, optional_string_in(m.body, "measured_on"));
    if (what.measured_on.find('/') != std::string::npos || what.measured_on.ends_with(".yaml"))
      return unexpected("measured_on", "a name of a system or device");
    TRY_ASSIGN(what.remove, strings_in(m.body, "remove", kMostPatterns));
    TRY_ASSIGN(what.fuse, strings_in(m.body, "fuse", kMostPatterns));
    TRY_ASSIGN(what.sets, strings_in(m.body, "sets", kMostSets));
    TRY_ASSIGN(const std::int64_t ranks, integer_within(m.body, "ranks", 1, kMostGpus, 1));
    what.ranks = m.body.contains("ranks") ? static_cast<std::uint32_t>(ranks) : 0;
    if (m.body.contains("text")) {
      TRY_ASSIGN(const std::string text, asked_text(m.body));
      TRY(predictions_.parse(text));
      what.config = predictions_.file();
      TRY_ASSIGN(what.experiment, config::Variants::of_text(text, predictions_.file()));
      TRY_ASSIGN(const ConfigNode changed, what.experiment->parsed(what.sets));
      TRY(predictions_.check(changed));
    }
    meanwhile.tell(dumped({{"id", m.id}, {"type", "progress"}, {"what", "replaying"}}));
    Json head{{"id", m.id}, {"type", "replay"}};
    if (chakra::names_chakra(paths)) {
      if (what.experiment == nullptr) return unexpected("text", "the experiment whose cluster the job is played on");
      chakra::ChakraReplay job;
      job.traces = paths;
      job.experiment = what.experiment;
      job.sets = what.sets;
      job.ranks = static_cast<std::uint32_t>(ranks);
      TRY_ASSIGN(const chakra::ChakraTexts texts, chakra::replayed_texts(job));
      const std::string& result = texts.json;
      head["format"] = "chakra";
      return without_last_brace(head) + ",\"result\":" + result + "}";
    }
    TRY_ASSIGN(const auto job, job_of(paths, steps));
    if (flag_in(m.body, "timeline")) {
      TRY_ASSIGN(std::string made, replay::replayed_timeline(what, *job, kMostReplayedBytes));
      head["path"] = "/file/" + files_.keep("replay.json", "application/json", std::move(made)) + "/replay.json";
      return dumped(head);
    }
    TRY_ASSIGN(const std::string result, replay::replayed_json(what, *job));
    head["format"] = "profiler";
    return without_last_brace(head) + ",\"result\":" + result + "}";
  };
  Result<std::string> out = asked();
  if (!out.ok()) return in_words_of_page(out.error(), folder);
  return in_words_of_page(std::move(*out), folder);
}

}  // namespace distsim::web
