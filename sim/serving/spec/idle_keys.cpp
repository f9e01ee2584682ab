// Keys of a file that are written and change nothing.
#include <algorithm>
#include <map>
#include <string_view>

#include "base/text/counted.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "sim/serving/spec/arrival_file.hpp"
#include "sim/serving/spec/compile.hpp"
#include "sim/serving/spec/model_pricer.hpp"

namespace distsim::serving {
namespace {

/// Keys with the same name and reason are one line.
class IdleKeys {
 public:
  explicit IdleKeys(const ConfigNode& root) : root_(root) {}

  /// Notes `list[index].key`, or `map.key`, where the file has it.
  void add(const std::string& where, std::string_view key, const std::string& why) {
    const std::string path = where.empty() ? std::string(key) : where + "." + std::string(key);
    const ConfigNode* node = node_at(where);
    if (node == nullptr || node->find(key) == nullptr) return;
    Found& found = found_[{std::string(key), why}];
    if (found.count++ == 0) {
      found.path = path;
      found.at = position_in(root_, path).text();
      found.is_set = is_set(found.at) && found.at.ends_with((where.empty() ? " " : ".") + std::string(key));
      order_.push_back({std::string(key), why});
    }
  }
  /// Whether --set asks for `other`, which a key of the file then gives way to.
  bool gives_way(const std::string& key, const std::string& other) const {
    return !is_set(position_in(root_, key).text()) && is_set(position_in(root_, other).text());
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    for (const auto& name : order_) {
      const Found& f = found_.at(name);
      const std::string others =
          f.count > 1 ? " and " + counted(f.count - 1, "other key", "other keys") + " of this name" : "";
      out.push_back(f.is_set && f.count == 1 ? f.at + ": no effect, " + name.second
                                             : f.at + ": " + f.path + others + ": no effect, " + name.second);
    }
    return out;
  }

 private:
  struct Found {
    std::string path, at;
    std::size_t count = 0;
    bool is_set = false;  ///< `at` is "--set models.0.cv"
  };
  static bool is_set(const std::string& position) { return position.starts_with("--"); }
  /// "load" or "models[3]"; the whole where empty
  const ConfigNode* node_at(const std::string& where) const {
    if (where.empty()) return &root_;
    const std::size_t bracket = where.find('[');
    const ConfigNode* node = root_.find(where.substr(0, bracket));
    if (node == nullptr || bracket == std::string::npos) return node;
    const std::size_t index = std::stoul(where.substr(bracket + 1));
    return node->kind == ConfigNode::Kind::sequence && index < node->items.size() ? &node->items[index] : nullptr;
  }

  const ConfigNode& root_;
  std::map<std::pair<std::string, std::string>, Found> found_;
  std::vector<std::pair<std::string, std::string>> order_;
};

/// Whether requests differ by what is drawn.
bool is_random(const Load& load, const Scenario& s) {
  const bool gaps = load.kind != LoadKind::constant && load.kind != LoadKind::trace && load.kind != LoadKind::offline &&
                    !load.is_closed() && !load.has_schedule_seed;
  const bool named = load.kind == LoadKind::trace &&
                     std::ranges::all_of(load.trace, [&](const TraceRow& r) { return r.model < s.models.size(); });
  const auto drawn = [](const auto& list) {
    return std::ranges::count_if(list, [](const auto& item) { return item.weight > 0; }) > 1;
  };
  return gaps || load.think_s > 0 || drawn(s.classes) || (drawn(s.models) && !named && load.model_shares.empty()) ||
         std::ranges::any_of(s.models, [](const Model& m) { return m.variation != Variation::none; });
}

/// What requests of models are, beside when they come.
void look_at_mix(const ServingSpec& spec, const Scenario& s, IdleKeys& out) {
  const bool promised = !s.classes.empty() && std::ranges::all_of(s.classes, [](const ServiceClass& c) {
    return c.deadline_ps != kNever || c.weight == 0;
  });
  for (std::size_t i = 0; i < spec.models.size(); ++i) {
    const std::string where = "models[" + std::to_string(i) + "]";
    if (spec.models.size() == 1) out.add(where, "weight", "there is one model");
    for (const char* key : {"deadline", "deadline_factor"})
      if (promised) out.add(where, key, "all classes have deadlines of their own");
  }
  if (spec.classes.size() == 1) out.add("classes[0]", "weight", "there is one class");
}

void look_at_load(const ServingSpec& spec, const Load& load, const Scenario& s, IdleKeys& out) {
  const LoadSpec& l = spec.load;
  const bool named = load.kind == LoadKind::trace &&
                     std::ranges::all_of(load.trace, [&](const TraceRow& r) { return r.model < s.models.size(); });
  for (std::size_t i = 0; i < spec.models.size() && named && spec.models.size() > 1; ++i)
    out.add("models[" + std::to_string(i) + "]", "weight", "all arrivals of the file name their model");
  if (spec.models.size() == 1) out.add("load", "per_model", "there is one model");
  if (!is_random(load, s)) out.add("load", "seed", "nothing is drawn");
  if (!spec.run.rates_per_s.empty() && !out.gives_way("load.rate_per_s", "run.rates_per_s"))
    out.add("load", "rate_per_s", "run.rates_per_s has the rates");
  const bool gaps = !load.is_closed() && l.kind != LoadKind::trace && l.kind != LoadKind::offline;
  if (!gaps) out.add("load", "streams", "it is of loads with gaps between requests");
  if (l.kind == LoadKind::offline) out.add("load", "duration", "all samples come at once");
  if (!load.is_closed()) out.add("load", "samples", "it is of clients that wait for their answers");
  if (l.kind != LoadKind::gamma) out.add("load", "cv", "it is of kind gamma");
  if (l.kind != LoadKind::closed) {
    out.add("load", "clients", "it is of kind closed");
    out.add("load", "think", "it is of kind closed");
  }
  if (l.kind == LoadKind::trace && l.requests > static_cast<std::int64_t>(load.trace.size()))
    out.add("load", "requests", "no more than " + counted(load.trace.size(), "arrival") + " of the file come");
}

/// Whether requests in progress, or branches of them, may go to another GPU.
bool may_move(const PolicyEntry* p) { return p->splits || p->takes_branches || p->factory != nullptr; }

void look_at_model(const ServingSpec& spec, std::size_t index, const ModelPricer& pricer, const Scenario& s,
                   IdleKeys& out) {
  const ModelTimesSpec& m = spec.models[index];
  const std::string where = "models[" + std::to_string(index) + "]";
  bool shared = false, streams = false, piped = false, stated = false;
  for (const GpuSpec& g : spec.gpus) {
    if (!pricer.prices(index, g)) continue;
    shared = shared || g.execution == Execution::shared;
    piped = piped || g.execution == Execution::pipeline;
    streams = streams || g.streams > 1;
    stated = stated || !pricer.measured(index, g);
  }
  if (m.variation != Variation::lognormal) out.add(where, "cv", "it is of variation: lognormal");
  if (m.graph.empty()) out.add(where, "precision", "it is of models with a graph");
  if (spec.times.empty()) out.add(where, "table_name", "there are no tables of times");
  if (!stated) {
    out.add(where, "layer_times", "tables have the times of the model on all GPUs");
    out.add(where, "batch_cost", "tables have the times of the model on all GPUs");
    out.add(where, "framework", "tables have the times of the model on all GPUs");
    out.add(where, "fused", "tables have the times of the model on all GPUs");
  } else if (m.layer_times.empty() || s.models[index].max_batch == 1) {
    out.add(where, "batch_cost", "it is of layer_times and batches of more than one request");
  }
  if (!shared) out.add(where, "sm_limit", "no GPU of the model executes several pieces of work at the same time");
  if (!shared && !(streams && !s.models[index].graph.is_chain()))
    for (const char* key : {"sm_demand", "memory_demand", "launch_demand", "layer_sm_demands", "layer_memory_demands"})
      out.add(where, key,
              "nothing is executed at the same time as the model; it only counts in how busy resources of GPUs are");
  if (shared && !m.graph.empty() && stated)
    for (const char* key : {"sm_demand", "memory_demand", "launch_demand"})
      out.add(where, key, "layers of a graph have demands of their own");
  if (s.gpus.size() == 1 && !piped)
    out.add(where, "state", "there is one GPU, from which nothing moves");
  else if (!piped && std::ranges::none_of(spec.policies, may_move) && !out.gives_way(where + ".state", "policies"))
    out.add(where, "state", "no policy moves a request between its layers");
}

/// What may be sent over links.
struct Copies {
  bool host = false;   ///< between the host and a GPU
  bool moves = false;  ///< between GPUs
  bool any() const { return host || moves; }
};

Copies copies_of(const ServingSpec& spec, const Scenario& s) {
  Copies out;
  for (const Model& m : s.models) {
    const bool loaded = s.residency != Residency::resident && m.weight_bytes > 0;
    out.host = out.host || loaded || m.input_bytes > 0 || m.output_bytes > 0;
    out.moves = out.moves || m.state_bytes > 0 || !m.state_after.empty() || !m.graph.is_chain();
  }
  const bool piped =
      std::ranges::any_of(spec.gpus, [](const GpuSpec& g) { return g.execution == Execution::pipeline; });
  out.moves = out.moves && (piped || std::ranges::any_of(spec.policies, may_move));
  return out;
}

/// Whether a link that is used takes its speed from the system.
void look_at_system(const ServingSpec& spec, const Scenario& s, IdleKeys& out) {
  const Copies copies = copies_of(spec, s);
  const bool lone = spec.gpus.size() == 1 && spec.gpus[0].count == 1 && spec.gpus[0].execution != Execution::pipeline;
  const bool hosts_known = std::ranges::all_of(
      spec.gpus, [](const GpuSpec& g) { return !g.device.empty() || g.host_bandwidth.value() > 0; });
  if (!copies.any())
    out.add("cluster", "system", "nothing is copied");
  else if (lone && hosts_known)
    out.add("cluster", "system", "the one GPU has a link to the host of its own speed");
}

void look_at_weights(const ServingSpec& spec, const Scenario& s, IdleKeys& out) {
  const bool weights = std::ranges::any_of(s.models, [](const Model& m) { return m.weight_bytes > 0; });
  const bool limits = std::ranges::any_of(s.gpus, [](const Gpu& g) { return g.memory_bytes != kNever; });
  if (!weights) out.add("", "residency", "no model has weights");
  for (std::size_t i = 0; i < spec.gpus.size() && !weights; ++i)
    out.add("gpus[" + std::to_string(i) + "]", "memory", "no model has weights");
  for (std::size_t i = 0; i < spec.models.size() && !limits && s.residency == Residency::resident; ++i)
    out.add("models[" + std::to_string(i) + "]", "weights",
            "they are on every GPU from the start, and no GPU has a memory");
}

void look_at_gpu(const ServingSpec& spec, std::size_t index, const Scenario& s, IdleKeys& out) {
  const GpuSpec& g = spec.gpus[index];
  const std::string where = "gpus[" + std::to_string(index) + "]";
  const Copies copies = copies_of(spec, s);
  if (g.count == 1)
    out.add(where, "host_link_shared_by", "there is one such GPU");
  else if (!copies.any())
    out.add(where, "host_link_shared_by", "nothing is copied");
  if (spec.times.empty() && g.name != g.kind) out.add(where, "kind", "there are no tables of times");
  if (std::ranges::all_of(s.models, [](const Model& m) { return m.graph.is_chain(); }))
    out.add(where, "streams", "no model has branches");
  if (s.gpus.size() == 1 && g.execution != Execution::pipeline)
    for (const char* key : {"peer_bandwidth", "peer_latency"}) out.add(where, key, "there is one GPU");
  for (const char* key : {"host_bandwidth", "host_latency"})
    if (!copies.any()) out.add(where, key, "nothing is copied");
  for (const char* key : {"peer_bandwidth", "peer_latency"})
    if (s.gpus.size() > 1 && !copies.moves) out.add(where, key, "nothing moves from GPU to GPU");
  if (std::ranges::all_of(s.gpus, [&](const Gpu& other) { return other.box == s.gpus[0].box; }))
    for (const char* key : {"box_bandwidth", "box_latency"}) out.add(where, key, "all GPUs are in one box");
  else if (!copies.moves)
    for (const char* key : {"box_bandwidth", "box_latency"}) out.add(where, key, "nothing moves from GPU to GPU");
}

/// Whether every policy takes the requests in the order in which they come: with one model and nothing that tells requests
/// apart, all do but those that batch, split requests or are the user's.
bool takes_by_age(const ServingSpec& spec) {
  return spec.models.size() == 1 && spec.classes.empty() &&
         std::ranges::none_of(spec.policies, [](const PolicyEntry* p) {
           return p->batches || p->splits || p->takes_branches || p->factory != nullptr;
         });
}

void look_at_execution(const ServingSpec& spec, std::size_t index, const ModelPricer& pricer, const Scenario& s,
                       IdleKeys& out) {
  const GpuSpec& g = spec.gpus[index];
  const std::string where = "gpus[" + std::to_string(index) + "]";
  const bool judged = spec.run.drop_late || spec.run.max_wait.ps() > 0;  // at the moment a slot is taken
  if (s.gpus.size() == 1 && g.slots > 1 && g.execution != Execution::shared && takes_by_age(spec) && !judged &&
      !copies_of(spec, s).any())
    out.add(where, "slots",
            "nothing is copied before it is executed, and the one GPU takes requests in the order in which they come");
  bool any = false, plain = true, graphs = true;
  for (std::size_t m = 0; m < spec.models.size(); ++m) {
    if (!pricer.prices(m, g)) continue;
    const ModelTimesSpec& model = spec.models[m];
    const bool priced = model.layer_times.empty() && !pricer.measured(m, g);
    any = true;
    plain = plain && !priced && s.models[m].graph.is_chain() && model.sm_limit == 1;
    graphs = graphs && priced && (g.streams == 1 || s.models[m].graph.is_chain());
  }
  if (any && plain && g.execution == Execution::shared && g.slots == 1)
    out.add(where, "execution", "with one slot nothing is executed at the same time");
  if (any && graphs && g.execution != Execution::shared)
    out.add(where, "busy_power", "layers of graphs draw what they keep busy");
}

void look_at_branches(const ServingSpec& spec, const ModelPricer& pricer, const Scenario& s, IdleKeys& out) {
  const bool apart = std::ranges::any_of(
      spec.policies, [](const PolicyEntry* p) { return p->takes_branches || p->factory != nullptr; });
  for (std::size_t m = 0; m < spec.models.size(); ++m) {
    const std::string where = "models[" + std::to_string(m) + "]";
    if (!spec.models[m].graph.empty()) {
      out.add(where, "after", "the graph has what each layer needs");
      continue;
    }
    const bool streams =
        std::ranges::any_of(spec.gpus, [&](const GpuSpec& g) { return g.streams > 1 && pricer.prices(m, g); });
    if (!streams && !apart && !s.models[m].graph.is_chain())
      out.add(where, "after", "no GPU has streams, and no policy takes branches apart");
  }
}

void look_at_policies(const ServingSpec& spec, const Scenario& s, IdleKeys& out) {
  const auto any = [&](const auto& is) { return std::ranges::any_of(spec.policies, is); };
  const bool priority = any([](const PolicyEntry* p) { return p->heeds_priority || p->factory != nullptr; });
  const bool batches = any([](const PolicyEntry* p) { return p->may_batch(); });
  const bool one_by_one = std::ranges::all_of(s.models, [](const Model& m) { return m.max_batch == 1; });
  const bool cells = any([](const PolicyEntry* p) { return (p->batches && p->splits) || p->factory != nullptr; });
  for (std::size_t i = 0; i < spec.models.size(); ++i) {
    const std::string where = "models[" + std::to_string(i) + "]";
    if (!priority) out.add(where, "priority", "no policy goes by priority");
    if (!batches && spec.models[i].max_batch > 1 && !out.gives_way(where + ".max_batch", "policies"))
      out.add(where, "max_batch", "no policy batches");
    if (!cells && !out.gives_way(where + ".cells", "policies"))
      out.add(where, "cells", "it is of policy cellular_batching");
  }
  for (std::size_t i = 0; i < spec.classes.size() && !priority; ++i)
    out.add("classes[" + std::to_string(i) + "]", "priority", "no policy goes by priority");
  const bool graphs =
      std::ranges::any_of(spec.models, [](const ModelTimesSpec& m) { return !m.graph.empty() && m.max_batch == 0; });
  if (!graphs && !any([](const PolicyEntry* p) { return p->batches; }))
    out.add("batching", "size", "no policy batches");
  else if (!graphs && one_by_one)
    out.add("batching", "size", "the max_batch of every model is 1");
  if (!any([](const PolicyEntry* p) { return p->delays; }))
    out.add("batching", "delay", "it is of policy dynamic_batching");
  else if (one_by_one)
    out.add("batching", "delay", "the max_batch of every model is 1");
  const bool deadlines = std::ranges::any_of(s.models, [](const Model& m) { return m.deadline_ps != kNever; }) ||
                         std::ranges::any_of(s.classes, [](const ServiceClass& c) { return c.deadline_ps != kNever; });
  if (!deadlines && spec.run.drop_late) out.add("run", "drop_late", "no request has a deadline");
}

/// Columns of arrivals in the format of our own.
const std::vector<std::string> kOwn{"arrival_s", "model"};

void name_unused_columns(const std::string& path, std::vector<std::string>& lines) {
  const std::vector<std::string> unused = unused_arrival_columns(path);
  constexpr std::size_t kMostLines = 4;
  if (unused.size() > kMostLines) {
    lines.push_back(printable(path, 200) + ": columns " + in_quotes(unused[0], 40) + ", " + in_quotes(unused[1], 40) +
                    " and " + std::to_string(unused.size() - 2) + " more: no effect");
    return;
  }
  for (const std::string& column : unused) {
    const bool is_known = std::ranges::find(kOwn, column) != kOwn.end();  // of a format that the file is not in
    const std::string near = is_known ? "" : nearest_spelling(column, kOwn);
    lines.push_back(printable(path, 200) + ": column " + in_quotes(column, 40) + ": no effect" +
                    (is_known ? ", it is of another format of arrivals than this file" : "") +
                    (near.empty() ? "" : "; " + did_you_mean(column, near)));
  }
}

}  // namespace

std::vector<std::string> idle_keys_of_load(const ServingSpec& spec, const Text& text, const Scenario& s,
                                           const Load& load) {
  IdleKeys out(text.root);
  look_at_load(spec, load, s, out);
  std::vector<std::string> lines = out.lines();
  const std::string path = load.kind == LoadKind::trace ? text.path_of("load.file", spec.load.file) : "";
  if (!path.empty() && ends_within_a_line(path))
    lines.push_back(printable(path, 200) +
                    ": the last line has no end; if the file was cut, its last request is not what was recorded");
  if (!path.empty()) name_unused_columns(path, lines);
  return lines;
}

std::vector<std::string> idle_keys(const ServingSpec& spec, const Text& text, const ModelPricer& pricer,
                                   const Scenario& s) {
  IdleKeys out(text.root);
  look_at_mix(spec, s, out);
  look_at_weights(spec, s, out);
  for (std::size_t i = 0; i < spec.models.size(); ++i) look_at_model(spec, i, pricer, s, out);
  for (std::size_t i = 0; i < spec.gpus.size(); ++i) {
    look_at_gpu(spec, i, s, out);
    look_at_execution(spec, i, pricer, s, out);
  }
  look_at_branches(spec, pricer, s, out);
  look_at_system(spec, s, out);
  look_at_policies(spec, s, out);
  std::vector<std::string> lines = out.lines();
  for (std::string& line : unmatched_times(spec, text, pricer)) lines.push_back(std::move(line));
  for (std::size_t i = 0; i < spec.models.size(); ++i) {
    const GraphModel* graph = pricer.graph_of(i);
    const bool priced =
        std::ranges::any_of(spec.gpus, [&](const GpuSpec& g) { return pricer.prices(i, g) && !pricer.measured(i, g); });
    if (graph == nullptr || !priced) continue;
    const std::string estimated = graph->estimated({.precision = spec.models[i].precision});
    const std::string key = "models[" + std::to_string(i) + "].graph";
    if (!estimated.empty()) lines.push_back(position_in(text.root, key).text() + ": " + key + ": " + estimated);
  }
  for (std::string& line : pricer.table().notes()) lines.push_back(std::move(line));
  for (std::size_t i = 0; i < spec.times.size(); ++i) {
    const std::string table = text.path_of("times[" + std::to_string(i) + "]", spec.times[i]);
    if (ends_within_a_line(table))
      lines.push_back(printable(table, 200) +
                      ": the last line has no end; if the file was cut, its last time is not what was measured");
  }
  return lines;
}

}  // namespace distsim::serving
