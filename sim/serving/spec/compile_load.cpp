#include <fmt/format.h>

#include <algorithm>

#include "base/text/counted.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/serving/spec/arrival_file.hpp"
#include "sim/serving/spec/compile.hpp"

namespace distsim::serving {
namespace {

// Of MLPerf Inference's LoadGen, where an experiment says nothing (loadgen/test_settings.h, v5.0).
constexpr std::uint64_t kOfflineSamples = 24'576;  ///< least samples of the offline scenario
constexpr double kLeastSeconds = 600;              ///< least duration of a run
constexpr std::uint32_t kMultiStreamSamples = 8;   ///< of a query

bool has_rate(LoadKind kind) {
  return kind == LoadKind::poisson || kind == LoadKind::constant || kind == LoadKind::gamma || kind == LoadKind::server;
}
bool is_scenario(LoadKind kind) {
  return kind == LoadKind::server || kind == LoadKind::offline || kind == LoadKind::single_stream ||
         kind == LoadKind::multi_stream;
}

Result<void> check_load(const ServingSpec& spec, const Text& text) {
  const LoadSpec& l = spec.load;
  const bool swept = !spec.run.rates_per_s.empty();
  if (has_rate(l.kind) && l.rate_per_s == 0 && !swept)
    return text.refuse("load.rate_per_s", "missing, expected requests per second");
  if (!has_rate(l.kind) && l.rate_per_s > 0)
    return text.refuse("load.rate_per_s", "found a rate, expected none with this kind of load");
  if (!has_rate(l.kind) && swept)
    return text.refuse("run.rates_per_s", "found rates, expected none with this kind of load");
  if ((l.kind == LoadKind::bursts) == l.bursts.empty())
    return text.refuse("load.bursts", l.bursts.empty() ? "missing, expected the states of kind bursts"
                                                       : "found states, expected them with kind bursts only");
  if (std::ranges::all_of(l.bursts, [](const BurstSpec& b) { return b.rate_per_s == 0; }) && !l.bursts.empty())
    return text.refuse("load.bursts", "found only rates of 0, expected one above 0");
  if ((l.kind == LoadKind::trace) == l.file.empty())
    return text.refuse("load.file", l.file.empty() ? "missing, expected the file of kind trace"
                                                   : "found a file, expected it with kind trace only");
  if (l.requests == 0 && l.duration.ps() == 0 && !is_scenario(l.kind) && l.kind != LoadKind::trace)
    return text.refuse("load.requests", "missing, expected requests or duration");
  if (l.schedule_seed >= 0 && (l.kind != LoadKind::server || l.streams > 1 || l.per_model))
    return text.refuse("load.schedule_seed", "found a seed, expected it with kind server and one stream only");
  for (std::size_t i = 0; i < spec.run.rates_per_s.size(); ++i) {
    if (std::find(spec.run.rates_per_s.begin(), spec.run.rates_per_s.begin() + static_cast<std::ptrdiff_t>(i),
                  spec.run.rates_per_s[i]) != spec.run.rates_per_s.begin() + static_cast<std::ptrdiff_t>(i))
      return text.refuse("run.rates_per_s[" + std::to_string(i) + "]",
                         fmt::format("found {:g} twice, expected each rate once", spec.run.rates_per_s[i]));
  }
  const bool has_gaps = has_rate(l.kind) || l.kind == LoadKind::bursts;
  if (l.per_model && !has_gaps)
    return text.refuse("load.per_model", "found true, expected it with gaps between requests only");
  for (std::size_t i = 0; i < spec.models.size() && !has_gaps && l.kind != LoadKind::trace; ++i) {
    if (spec.models[i].refused)
      return text.refuse("models[" + std::to_string(i) + "].refused",
                         "found true, expected it with requests that do not wait for answers");
  }
  return {};
}

/// States that follow each other without a request are drawn one by one.
Result<void> check_bursts(const Text& text, const Load& load) {
  constexpr double kMostRounds = 1e6;
  double sent = 0, share = 1;
  for (const BurstState& state : load.bursts) sent += state.rate_per_s * state.seconds;
  for (const double s : load.model_shares) share = s > 0 ? std::min(share, s) : share;
  if (load.bursts.empty() || sent * share * kMostRounds >= 1) return {};
  return text.refuse("load.bursts",
                     fmt::format("found {:.4g} rounds of all states from one request to the next, expected at most 1e6",
                                 1 / (sent * share)));
}

/// Of the arrivals of a file those that are sent.
void cut(Load& load) {
  if (load.requests > 0 && load.requests < load.trace.size()) load.trace.resize(load.requests);
  if (load.duration_ps > 0)
    std::erase_if(load.trace, [&](const TraceRow& row) { return row.time_ps > load.duration_ps; });
}

/// Requests that come at most; 0: no number is stated.
std::uint64_t requests_at_most(const Load& load) {
  const std::uint64_t streams = load.is_closed() || load.kind == LoadKind::trace || load.kind == LoadKind::offline
                                    ? 1
                                    : load.streams * std::max<std::uint64_t>(1, load.model_shares.size());
  if (load.kind != LoadKind::trace) return load.requests * streams;
  return load.requests == 0 ? load.trace.size() : std::min<std::uint64_t>(load.requests, load.trace.size());
}

/// Something must be left to count, and a closed load must be allowed to be in the system.
Result<void> check_counts(const ServingSpec& spec, const Text& text, const Load& load) {
  const std::uint64_t most = requests_at_most(load);
  if (most > 0 && spec.run.warm_up >= 0 && static_cast<std::uint64_t>(spec.run.warm_up) >= most)
    return text.refuse("run.warm_up", "found " + std::to_string(spec.run.warm_up) + ", expected less than the " +
                                          counted(most, "request") + " that come");
  const std::uint64_t all = std::uint64_t{load.clients} * load.samples, clients = most > 0 ? std::min(all, most) : all;
  if (load.is_closed() && clients > static_cast<std::uint64_t>(spec.run.max_in_system))
    return text.refuse("run.max_in_system", "found " + std::to_string(spec.run.max_in_system) +
                                                ", expected at least the " + counted(clients, "request") +
                                                " of all clients");
  return {};
}

}  // namespace

Result<Load> make_load(const ServingSpec& spec, const Text& text, const Scenario& scenario) {
  TRY(check_load(spec, text));
  const LoadSpec& l = spec.load;
  Load load;
  load.kind = l.kind;
  load.rate_per_s = l.rate_per_s;
  load.cv = l.cv;
  for (const BurstSpec& b : l.bursts) load.bursts.push_back({b.rate_per_s, b.duration.seconds()});
  load.requests = static_cast<std::uint64_t>(l.requests);
  load.duration_ps = l.duration.ps();
  const bool has_streams = has_rate(l.kind) || l.kind == LoadKind::bursts;
  load.streams = has_streams ? static_cast<std::uint32_t>(l.streams) : 1;
  double weights = 0;
  for (const Model& m : scenario.models) weights += m.weight;
  for (std::size_t i = 0; l.per_model && i < scenario.models.size(); ++i)
    load.model_shares.push_back(scenario.models[i].weight / weights);
  TRY(check_bursts(text, load));
  load.clients = l.kind == LoadKind::closed ? static_cast<std::uint32_t>(l.clients) : 1;
  load.think_s = l.kind == LoadKind::closed ? l.think.seconds() : 0;
  load.samples = !load.is_closed() ? 1
                 : l.samples > 0   ? static_cast<std::uint32_t>(l.samples)
                                   : (l.kind == LoadKind::multi_stream ? kMultiStreamSamples : 1);
  load.seed = static_cast<std::uint64_t>(l.seed);
  load.has_schedule_seed = l.schedule_seed >= 0;
  load.schedule_seed = load.has_schedule_seed ? static_cast<std::uint64_t>(l.schedule_seed) : 0;
  if (l.kind == LoadKind::offline) {
    load.duration_ps = 0;  // all come at 0
    if (load.requests == 0) load.requests = kOfflineSamples;
  } else if (is_scenario(l.kind) && load.requests == 0 && load.duration_ps == 0) {
    load.duration_ps = static_cast<std::int64_t>(kLeastSeconds * 1e12);
  }
  if (l.kind == LoadKind::trace) {
    std::vector<std::string> names;
    for (const Model& m : scenario.models) names.push_back(m.name);
    TRY_ASSIGN(load.trace, read_arrivals(text.path_of("load.file", l.file), names));
    cut(load);
    if (load.trace.empty())
      return text.refuse("load.duration", "found " + format_quantity(l.duration.seconds(), Dimension::seconds) +
                                              ", expected the time of at least one arrival of the file");
  }
  TRY(check_counts(spec, text, load));
  return load;
}

}  // namespace distsim::serving
