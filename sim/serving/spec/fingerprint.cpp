#include "sim/serving/spec/fingerprint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text/printable.hpp"
#include "sim/config/flag_sets.hpp"
#include "sim/config/idle_together.hpp"

namespace distsim::serving {
namespace {

template <class... Values>
void put(std::string& out, const Values&... values) {
  ((out += fmt::format("{} ", values)), ...);
  out += '\n';
}

/// Whether a GPU that executes several pieces of work at the same time has the model.
bool is_shared(const Scenario& s, std::uint32_t model) {
  return std::ranges::any_of(
      s.gpus, [&](const Gpu& g) { return g.execution == Execution::shared && s.runs_on(g.kind, model); });
}

void put_model(std::string& out, const Scenario& s, std::uint32_t m) {
  const Model& model = s.models[m];
  put(out, model.name, model.layers, model.max_batch, model.weight_bytes, model.input_bytes, model.output_bytes,
      model.state_bytes, model.deadline_ps, model.priority, model.weight, model.size_ps,
      static_cast<int>(model.variation), model.variation == Variation::lognormal ? model.cv : 1, model.demand.sm,
      model.demand.memory, model.demand.launch, is_shared(s, m) ? model.sm_limit : 1, model.cells, model.refused);
  for (const std::int64_t bytes : model.state_after) put(out, bytes);
  for (std::uint32_t k = 0; k < s.kinds.size(); ++k) {
    for (std::uint32_t b = 1; s.runs_on(k, m) && b <= model.max_batch; ++b) {
      const Demand* demands = s.demands(k, m, b);
      for (std::uint32_t l = 0; l < model.layers; ++l) {
        put(out, s.serial_ps(k, m, l, l + 1, b), s.time_ps(k, m, 0, l + 1, b));
        if (demands != nullptr) put(out, demands[l].sm, demands[l].memory, demands[l].launch);
      }
    }
  }
}

/// What branches of a model hand to each other.
void put_graph(std::string& out, const LayerGraph& graph) {
  for (const LayerGraph::Strand& strand : graph.strands()) {
    put(out, strand.begin, strand.end);
    for (const LayerGraph::Source& source : strand.sources) put(out, source.strand, source.bytes);
  }
}

/// Boxes count by which GPUs share one, whatever their numbers.
std::size_t first_of_box(const Scenario& s, std::uint32_t box) {
  return static_cast<std::size_t>(std::ranges::find(s.gpus, box, &Gpu::box) - s.gpus.begin());
}

/// A placement counts by the GPUs that it leaves out.
bool leaves_some_out(const Scenario& s, std::uint32_t model, const std::vector<std::uint32_t>& places) {
  for (std::uint32_t g = 0; g < s.gpus.size() && !places.empty(); ++g)
    if (s.runs_on(s.gpus[g].kind, model) && std::ranges::find(places, g) == places.end()) return true;
  return false;
}

void put_gpu(std::string& out, const Scenario& s, const Gpu& g) {
  put(out, g.name, g.kind, g.memory_bytes, g.slots, static_cast<int>(g.execution), g.stages, g.host_in, g.host_out,
      g.peer_in, g.peer_out, g.box_in, g.box_out, first_of_box(s, g.box), g.peers, g.idle_watts, g.busy_watts);
}

void put_load(std::string& out, const Experiment& e) {
  const Load& l = e.load;
  put(out, static_cast<int>(l.kind), l.kind == LoadKind::gamma ? l.cv : 1, l.requests, l.duration_ps, l.streams,
      l.clients, l.think_s, l.samples, l.seed, l.has_schedule_seed, l.schedule_seed);
  for (const double rate : e.rates_per_s) put(out, rate);
  for (const BurstState& b : l.bursts) put(out, b.rate_per_s, b.seconds);
  for (const TraceRow& row : l.trace) put(out, row.time_ps, row.model);
  for (const double share : l.model_shares) put(out, share);
}

WithSets of_file(const std::string& path, PriceStore* prices) {
  return [&path, prices](const std::vector<std::string>& sets) { return load_experiment(path, sets, prices); };
}

/// A line for each of these that `lines` has none for.
std::vector<std::string> with_idle_sets(std::vector<std::string> lines, const std::vector<std::string>& idle) {
  const std::size_t reasons = lines.size();
  for (const std::string& set : idle) {
    const std::string key = "--set " + set.substr(0, set.find('=')) + ":";
    const auto end = lines.begin() + static_cast<std::ptrdiff_t>(reasons);
    if (std::none_of(lines.begin(), end, [&](const std::string& line) { return line.starts_with(key); }))
      lines.push_back("--set " + printable(set, 200) + ": no effect, the experiment is the same without it");
  }
  return lines;
}

}  // namespace

std::string fingerprint(const Experiment& e) {
  const Scenario& s = e.scenario;
  std::string out;
  for (std::uint32_t m = 0; m < s.models.size(); ++m) put_model(out, s, m);
  for (const Gpu& gpu : s.gpus) put_gpu(out, s, gpu);
  for (const Link& link : s.links) put(out, link.bytes_per_s, link.latency_ps);
  for (const ServiceClass& c : s.classes) put(out, c.name, c.weight, c.priority, c.deadline_ps);
  put(out, static_cast<int>(s.residency));
  put_load(out, e);
  bool batches = false, delays = false, branches = false;
  for (const PolicyEntry* policy : e.policies) {
    put(out, policy->name);
    branches = branches || policy->takes_branches;
    batches = batches || policy->batches;
    delays = delays || policy->delays;
  }
  for (std::uint32_t m = 0; branches && m < s.models.size(); ++m) put_graph(out, s.models[m].graph);
  std::uint32_t largest = 1;
  for (const Model& m : s.models) largest = std::max(largest, m.max_batch);
  if (batches) put(out, std::min(e.policy_options.batch, largest));
  if (delays && largest > 1) put(out, e.policy_options.delay_ps);
  for (std::uint32_t m = 0; m < e.policy_options.placement.size(); ++m) {
    std::vector<std::uint32_t> places = e.policy_options.placement[m];
    if (!leaves_some_out(s, m, places)) places.clear();
    std::ranges::sort(places);
    for (const std::uint32_t gpu : places) put(out, gpu);
    put(out, "placed");
  }
  put(out, e.run.warm_up, e.find_warm_up, e.run.drop_late, e.run.max_wait_ps, e.run.max_in_system, e.confidence);
  return out;
}

std::vector<std::string> sets_without_effect(const WithSets& experiment, const std::vector<std::string>& sets) {
  const auto all = experiment(sets);
  if (!all.ok()) return {};
  const std::string with = fingerprint(*all);
  const auto matter = [&](const std::vector<std::size_t>& some) {
    std::vector<std::string> rest;
    for (std::size_t i = 0; i < sets.size(); ++i)
      if (std::ranges::find(some, i) == some.end()) rest.push_back(sets[i]);
    const auto without = experiment(rest);
    return !without.ok() || fingerprint(*without) != with;
  };
  std::vector<std::size_t> idle;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const bool is_for_people = sets[i].starts_with("title=") || sets[i].starts_with("description=");
    if (!is_for_people && !matter({i})) idle.push_back(i);
  }
  std::vector<std::string> out;
  for (const std::size_t i : config::idle_together(std::move(idle), matter)) out.push_back(sets[i]);
  return out;
}

std::vector<std::string> without_effect(const WithSets& experiment, const std::vector<std::string>& sets) {
  const auto e = experiment(sets);
  return with_idle_sets(e.ok() ? e->idle_keys : std::vector<std::string>(), sets_without_effect(experiment, sets));
}

std::vector<std::string> without_effect_online(const std::string& path, const std::vector<std::string>& sets) {
  const WithSets experiment = of_file(path, nullptr);
  const auto is_unheeded = [](const std::string& set) {
    return (config::is_of_key(set, "load") && !config::gives(set, "load.seed")) ||
           config::is_of_key(set, "run.rates_per_s") || config::is_of_key(set, "run.warm_up") ||
           config::is_of_key(set, "run.confidence");
  };
  const auto e = experiment(sets);
  std::vector<std::string> lines = e.ok() ? e->idle_keys_online : std::vector<std::string>();
  std::vector<std::string> idle = sets_without_effect(experiment, sets);
  std::erase_if(idle, is_unheeded);
  lines = with_idle_sets(std::move(lines), idle);
  for (const std::string& set : sets) {
    if (is_unheeded(set))
      lines.push_back("--set " + printable(set, 200) + ": no effect, requests come as lines with --online");
  }
  return lines;
}

std::vector<std::string> sets_without_effect(const std::string& path, const std::vector<std::string>& sets,
                                             PriceStore* prices) {
  return sets_without_effect(of_file(path, prices), sets);
}

std::vector<std::string> without_effect(const std::string& path, const std::vector<std::string>& sets,
                                        PriceStore* prices) {
  return without_effect(of_file(path, prices), sets);
}

}  // namespace distsim::serving
