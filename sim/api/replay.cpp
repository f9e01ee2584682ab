#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/text/csv.hpp"
#include "base/text/printable.hpp"
#include "sim/api/door.hpp"
#include "sim/api/priced_trace.hpp"
#include "sim/api/public/replay.hpp"
#include "sim/chakra/replay_chakra.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/replay/replay_trace.hpp"

namespace distsim::api {
namespace {

constexpr std::uint32_t kMostRanks = 1u << 24;

struct Asked {
  const char* name;
  bool is_given;
};

std::string first_given(std::initializer_list<Asked> all) {
  const auto* it = std::find_if(all.begin(), all.end(), [](const Asked& a) { return a.is_given; });
  return it == all.end() ? "" : it->name;
}

std::string given_of_chakra(const ReplayRequest& r) {
  return first_given({{"network", !r.network.empty()},
                      {"network_system", !r.network_system.empty()},
                      {"groups", !r.groups.empty()},
                      {"recorded_collectives", r.recorded_collectives},
                      {"compute_scale", r.compute_scale != 1}});
}

std::string given_of_profiles(const ReplayRequest& r) {
  return first_given({{"step_pattern", !r.step_pattern.empty()},
                      {"measured_on", !r.measured_on.empty()},
                      {"remove", !r.remove.empty()},
                      {"fuse", !r.fuse.empty()},
                      {"leave_one_step_out", r.leave_one_step_out}});
}

Error stray(const std::string& name, const char* found, const char* expected) {
  return Error{name + ": found " + found + ", expected " + expected, "", ""};
}

Result<Replay> priced(const ReplayRequest& r, const std::string& config, const std::vector<std::string>& sets) {
  for (const std::string& name :
       {given_of_chakra(r), given_of_profiles(r), first_given({{"ranks", r.ranks.has_value()}})}) {
    if (!name.empty()) return stray(name, "priced, which predicts the trace anew", "only experiment and sets");
  }
  TRY_ASSIGN(const report::Report report, priced_trace(r.traces, config, sets));
  return Replay{report::to_json(report) + "\n", csv_line(report::csv_columns()) + csv_line(report::csv_values(report)),
                console_text(report::to_text(report))};
}

Result<Replay> of_chakra(const ReplayRequest& r, const std::string& config, const std::vector<std::string>& sets) {
  if (const std::string name = given_of_profiles(r); !name.empty())
    return stray(name, "a Chakra trace", "a profiler trace");
  if (!(r.compute_scale >= 1e-6 && r.compute_scale <= 1e6))
    return Error{"compute_scale: found " + std::to_string(r.compute_scale) + ", expected 1e-6 .. 1e6", "", ""};
  chakra::ChakraReplay asked;
  asked.traces = r.traces;
  asked.config = config;
  asked.sets = sets;
  asked.network = r.network;
  asked.network_system = r.network_system;
  asked.groups = r.groups;
  asked.ranks = r.ranks.value_or(1);
  asked.recorded_collectives = r.recorded_collectives;
  asked.compute_scale = r.compute_scale;
  TRY_ASSIGN(chakra::ChakraTexts texts, chakra::replayed_texts(asked));
  return Replay{std::move(texts.json), std::move(texts.csv), console_text(texts.text)};
}

Result<Replay> of_profile(const ReplayRequest& r, const std::string& config, const std::vector<std::string>& sets) {
  if (const std::string name = given_of_chakra(r); !name.empty())
    return stray(name, "a profiler trace", "a Chakra trace (.et)");
  replay::TraceReplay asked;
  asked.traces = r.traces;
  asked.config = config;
  asked.sets = sets;
  asked.step_pattern = r.step_pattern;
  asked.measured_on = r.measured_on;
  asked.remove = r.remove;
  asked.fuse = r.fuse;
  asked.leave_one_step_out = r.leave_one_step_out;
  asked.ranks = r.ranks.value_or(0);
  TRY_ASSIGN(replay::ReplayTexts texts, replay::replayed_texts(asked));
  return Replay{std::move(texts.json), std::move(texts.csv), console_text(texts.text)};
}

Result<Replay> replayed(const ReplayRequest& r) {
  if (r.traces.empty()) return Error{"traces: found none, expected at least one file", "", ""};
  if (r.ranks && (*r.ranks < 1 || *r.ranks > kMostRanks))
    return Error{"ranks: found " + std::to_string(*r.ranks) + ", expected 1 .. 16777216", "", ""};
  if (r.experiment) TRY(check_given(*r.experiment));
  const ExperimentPath path(r.experiment.value_or(Experiment{}));
  const std::vector<std::string> sets = r.experiment ? r.experiment->sets : std::vector<std::string>();
  const auto play = r.priced ? priced : chakra::names_chakra(r.traces) ? of_chakra : of_profile;
  Result<Replay> out = play(r, path.path(), sets);
  return out ? std::move(out) : Result<Replay>(path.named(out.error()));
}

}  // namespace

Replay replay(const ReplayRequest& request) {
  const Call call(request.stop);
  return value_of(replayed(request));
}

}  // namespace distsim::api
