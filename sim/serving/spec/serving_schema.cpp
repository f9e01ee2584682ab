#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/text/counted.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/config/reference.hpp"
#include "sim/serving/policies/library/policy_library.hpp"
#include "sim/serving/spec/serving_spec.hpp"

namespace distsim::serving {
namespace {

constexpr Range kRate{1e-6, 1e9}, kBandwidth{1e6, 1e13}, kLatency{0, 1}, kBytes{0, 1e13}, kPower{1e-3, 1e5};

/// A quantity whose default is another one's: 0 is stated like any other value.
template <class S, class T>
void optional_quantity(Schema<S>& s, const char* key, Dimension dimension, std::optional<T> S::*member, Range range,
                       const char* fallback, const char* doc) {
  s.custom({key, schema_detail::dimension_name(dimension), schema_detail::range_of<T>(range), fallback, doc}, false,
           [member, range](S& out, const ConfigNode& node, const std::string& path) -> Result<void> {
             TRY_ASSIGN(out.*member, schema_detail::read_scalar<T>(node, path, range));
             return {};
           });
}

Schema<GpuSpec> gpu_schema() {
  Schema<GpuSpec> s("gpus", "GPUs of one kind.");
  s.required("name", &GpuSpec::name, "Name; with count above 1 those of the GPUs are name0, name1, ...");
  s.optional("kind", &GpuSpec::kind, "What tables of times call it; default: the name.");
  s.optional(
      "device", &GpuSpec::device,
      "A device of `distsim list devices`, or a file: prices models that are graphs, and is the default of memory, host_bandwidth and power.");
  s.optional("count", &GpuSpec::count, {1, 1e6}, "How many there are.");
  s.optional("box", &GpuSpec::box, {0, 1e6}, "Number of the box that they are in.");
  optional_quantity(s, "memory", Dimension::bytes, &GpuSpec::memory, kBytes,
                    "what the device has free, without one no limit", "Memory for weights.");
  s.optional("slots", &GpuSpec::slots, {1, 1e6},
             "Pieces of work that a GPU holds at a time: with 2, the next one is fetched while one is executed.");
  s.choice(
      "execution", &GpuSpec::execution,
      {{"serial", Execution::serial}, {"shared", Execution::shared}, {"pipeline", Execution::pipeline}},
      "Work in several slots is executed one after the other, at the same time, or in stages: then each is a group of GPUs that executes models as a pipeline.");
  s.optional("stages", &GpuSpec::stages, {1, 1024}, "With execution: pipeline: how many GPUs a group has.");
  s.optional(
      "streams", &GpuSpec::streams, {1, 128},
      "Streams of a piece of work: branches of its model's graph are executed on them beside each other, where that is faster.");
  s.optional("idle_power", &GpuSpec::idle_power, kPower,
             "Drawn while nothing is executed; default: 0.12 of the device's limit.");
  s.optional("busy_power", &GpuSpec::busy_power, kPower,
             "Drawn while something is executed, of models that are no graphs; default: the device's limit.");
  s.optional("speed", &GpuSpec::speed, {1e-3, 1e3}, "All layers take their time divided by this.");
  s.table("time_factors", &GpuSpec::time_factors, {}, {1e-3, 1e3}, "Factors on the times of single models.");
  s.optional("host_bandwidth", &GpuSpec::host_bandwidth, kBandwidth,
             "Link to and from the host, per direction; default: that of the device, of cluster.system, or 12 GB/s.");
  s.optional("host_latency", &GpuSpec::host_latency, kLatency, "Time of an empty copy between host and GPU.");
  s.optional("host_link_shared_by", &GpuSpec::host_link_shared_by, {1, 1024},
             "How many neighbours share a link to the host, as behind a PCIe switch.");
  s.optional("peer_bandwidth", &GpuSpec::peer_bandwidth, kBandwidth,
             "Link to other GPUs of the box, per direction; default: that of cluster.system, or through the host.");
  optional_quantity(s, "peer_latency", Dimension::seconds, &GpuSpec::peer_latency, kLatency,
                    "that of cluster.system, or 0 s", "Time of an empty copy between two GPUs of the box.");
  s.optional(
      "box_bandwidth", &GpuSpec::box_bandwidth, kBandwidth,
      "Network adapter of the box, per direction, shared by its GPUs; default: that of cluster.system, or 12.5 GB/s.");
  optional_quantity(s, "box_latency", Dimension::seconds, &GpuSpec::box_latency, kLatency,
                    "that of cluster.system, or 0 s", "Time of an empty message between boxes.");
  s.rule([](const GpuSpec& g) -> std::optional<std::string> {
    if (g.stages > 1 && g.execution != Execution::pipeline)
      return "stages: found " + std::to_string(g.stages) + ", expected them with execution: pipeline only";
    return std::nullopt;
  });
  s.rule([](const GpuSpec& g) -> std::optional<std::string> {
    if (g.busy_power.value() > 0 && g.busy_power.value() < g.idle_power.value())
      return "busy_power: found " +
             format_quantity_beside(g.busy_power.value(), g.idle_power.value(), Dimension::watts) +
             ", expected at least the idle_power of " + format_quantity(g.idle_power.value(), Dimension::watts);
    return std::nullopt;
  });
  s.rule([](const GpuSpec& g) -> std::optional<std::string> {
    if (g.streams > 1 && g.execution == Execution::pipeline)
      return "streams: found it with execution: pipeline, expected one of them";
    return std::nullopt;
  });
  return s;
}

Result<void> read_after(ModelTimesSpec& out, const ConfigNode& node, const std::string& path) {
  if (node.kind != ConfigNode::Kind::sequence)
    return schema_detail::expected(node, path, "a list with the layers that each layer needs");
  for (std::size_t l = 0; l < node.items.size(); ++l) {
    const ConfigNode& item = node.items[l];
    const bool one = item.kind != ConfigNode::Kind::sequence;
    std::vector<std::uint32_t>& needs = out.after.emplace_back();
    for (std::size_t i = 0; i < (one ? 1 : item.items.size()); ++i) {
      const ConfigNode& number = one ? item : item.items[i];
      const std::string at = path + "[" + std::to_string(l) + "]" + (one ? "" : "[" + std::to_string(i) + "]");
      const auto need = schema_detail::read_integer(number, at, {0, 1e9});
      if (!need.ok() || *need >= static_cast<std::int64_t>(l))
        return schema_detail::expected(
            number, at,
            l == 0 ? "no layer, as none is before layer 0" : "a layer before it, from 0 to " + std::to_string(l - 1));
      if (std::ranges::find(needs, static_cast<std::uint32_t>(*need)) != needs.end())
        return schema_detail::expected(number, at, "each layer once");
      needs.push_back(static_cast<std::uint32_t>(*need));
    }
  }
  return {};
}

Schema<ModelTimesSpec> model_schema() {
  Schema<ModelTimesSpec> s("models", "Models that are served: chains or graphs of layers.");
  s.required("name", &ModelTimesSpec::name, "Name.");
  s.optional("table_name", &ModelTimesSpec::table_name, "What tables of times call it; default: the name.");
  s.scalars(
      "layer_times", &ModelTimesSpec::layer_times, {0, 1e4},
      "Time of each layer for one request on a GPU of speed 1, on GPUs that no table has times of the model for.");
  s.optional(
      "graph", &ModelTimesSpec::graph,
      "Graph of its calls (docs/graph_format.md): layers are priced by the op models for each device and batch, where no table has them.");
  s.scalars("layer_sm_demands", &ModelTimesSpec::layer_sm_demands, {0, 1},
            "With layer_times: sm_demand of each layer; default: that of the model.");
  s.scalars("layer_memory_demands", &ModelTimesSpec::layer_memory_demands, {0, 1}, "Likewise memory_demand.");
  s.custom(
      {"after", "list of integer, or of lists of integer", "", "the layer before",
       "For each layer those that it needs, counted from 0: [[], 0, 0, [1, 2]] has two branches that join. Of graphs it is "
       "known."},
      false, read_after);
  s.choice("precision", &ModelTimesSpec::precision,
           {{"fp32", workload::Precision::fp32},
            {"tf32", workload::Precision::tf32},
            {"fp16", workload::Precision::fp16},
            {"bf16", workload::Precision::bf16}},
           "With graph: arithmetic; with fp16 and bf16 weights and activations are stored so.");
  s.optional(
      "fused", &ModelTimesSpec::fused,
      "With graph: as by an inference runtime, batch normalisation is folded and element-wise calls after products cost nothing.");
  s.optional(
      "framework", &ModelTimesSpec::framework,
      "With graph: a framework of `distsim list frameworks` whose host launches the kernels one by one; default: kernels alone.");
  s.optional("batch_cost", &ModelTimesSpec::batch_cost, {0, 1},
             "With layer_times: what each further request of a batch adds to a layer, as a share of its time.");
  s.optional(
      "max_batch", &ModelTimesSpec::max_batch, {1, 4096},
      "Requests of a batch at most; default: the largest batch of the tables, 1 with layer_times, batching.size with graph.");
  const auto bytes_of_graph = [&s](const char* key, std::optional<Bytes> ModelTimesSpec::*member, const char* doc) {
    optional_quantity(s, key, Dimension::bytes, member, kBytes, "that of the graph, without one 0 B", doc);
  };
  bytes_of_graph("weights", &ModelTimesSpec::weights, "Size of the weights.");
  bytes_of_graph("input", &ModelTimesSpec::input, "What a request copies from the host.");
  bytes_of_graph("output", &ModelTimesSpec::output, "What a request copies to the host.");
  bytes_of_graph("state", &ModelTimesSpec::state, "What a request carries from one GPU to another between layers.");
  s.optional("deadline", &ModelTimesSpec::deadline, {0, 1e5}, "Latency that counts as good at most; 0 s: any.");
  s.optional("deadline_factor", &ModelTimesSpec::deadline_factor, {0, 1e6},
             "The same as a multiple of the model's time alone on the first kind of GPU; 0: any.");
  s.optional("priority", &ModelTimesSpec::priority, {-1000, 1000}, "Higher is more urgent.");
  s.optional("weight", &ModelTimesSpec::weight, {0, 1e9}, "Share of the requests, relative to the other models.");
  s.choice("variation", &ModelTimesSpec::variation,
           {{"none", Variation::none}, {"exponential", Variation::exponential}, {"lognormal", Variation::lognormal}},
           "How the time of requests varies around that of the layers.");
  s.optional("cv", &ModelTimesSpec::cv, {0.001, 100}, "With lognormal: standard deviation over mean.");
  s.optional("sm_demand", &ModelTimesSpec::sm_demand, {0, 1},
             "Share of the SMs that it keeps busy alone: what work on a shared GPU competes for.");
  s.optional("memory_demand", &ModelTimesSpec::memory_demand, {0, 1}, "Share of the memory bandwidth, likewise.");
  s.optional(
      "launch_demand", &ModelTimesSpec::launch_demand, {0, 1},
      "Share of the host's launching thread, of which a shared GPU has one; layers of a graph have demands of their own.");
  s.optional("sm_limit", &ModelTimesSpec::sm_limit, {0.01, 1},
             "Part of the SMs that its work may use on a shared GPU, as MPS sets it.");
  s.optional("cells", &ModelTimesSpec::cells,
             "All layers are one cell, as of an RNN: requests at different layers may share a batch.");
  s.optional("refused", &ModelTimesSpec::refused,
             "No GPU has it: its requests are refused as they come, and count as violations.");
  s.scalars(
      "placed_on", &ModelTimesSpec::placed_on, {},
      "Names of the GPUs that execute it, or of entries of gpus for all of theirs; default: all that have times.");
  s.rule([](const ModelTimesSpec& m) -> std::optional<std::string> {
    if (m.deadline.ps() > 0 && m.deadline_factor > 0)
      return "deadline_factor: found it with deadline, expected one of them";
    if (!m.graph.empty() && !m.layer_times.empty()) return "graph: found it with layer_times, expected one of them";
    for (const auto& [key, list] : {std::pair("layer_sm_demands", &m.layer_sm_demands),
                                    std::pair("layer_memory_demands", &m.layer_memory_demands)}) {
      if (!list->empty() && list->size() != m.layer_times.size())
        return std::string(key) + ": found " + counted(list->size(), "value") +
               ", expected one for each of layer_times";
    }
    if (!m.after.empty() && !m.graph.empty())
      return "after: found it with graph, which has its own, expected one of them";
    if (!m.after.empty() && m.cells) return "after: found it with cells, which are a chain, expected one of them";
    if (!m.after.empty() && !m.layer_times.empty() && m.after.size() != m.layer_times.size())
      return "after: found " + counted(m.after.size(), "value") + ", expected one for each of layer_times";
    if (m.graph.empty() && !m.framework.empty()) return "framework: found it without graph, expected both";
    if (m.graph.empty() && m.fused) return "fused: found it without graph, expected both";
    return std::nullopt;
  });
  return s;
}

Schema<LoadSpec> load_schema() {
  Schema<BurstSpec> burst("bursts", "States of kind bursts, which follow each other in a circle.");
  burst.required("rate_per_s", &BurstSpec::rate_per_s, {0, 1e9}, "Poisson rate in this state.");
  burst.required("duration", &BurstSpec::duration, {1e-9, 1e6}, "Mean time in this state; exponential.");
  Schema<LoadSpec> s("load", "When requests come.");
  s.choice("kind", &LoadSpec::kind,
           {{"poisson", LoadKind::poisson},
            {"constant", LoadKind::constant},
            {"gamma", LoadKind::gamma},
            {"bursts", LoadKind::bursts},
            {"trace", LoadKind::trace},
            {"closed", LoadKind::closed},
            {"server", LoadKind::server},
            {"offline", LoadKind::offline},
            {"single_stream", LoadKind::single_stream},
            {"multi_stream", LoadKind::multi_stream}},
           "Gaps between requests, or a scenario of MLPerf's LoadGen (the last four).");
  s.optional("rate_per_s", &LoadSpec::rate_per_s, kRate, "Requests per second, all models together.");
  s.optional("cv", &LoadSpec::cv, {0.01, 100}, "Kind gamma: standard deviation of the gaps over their mean.");
  s.list("bursts", &LoadSpec::bursts, burst);
  s.optional("file", &LoadSpec::file, "Kind trace: CSV file of arrivals.");
  s.optional("requests", &LoadSpec::requests, {1, 1e12}, "Requests to send, of each stream.");
  s.optional("duration", &LoadSpec::duration, {1e-9, 1e6}, "No request comes later.");
  s.optional(
      "per_model", &LoadSpec::per_model,
      "Each model has gaps of its own, at its share of the rate by weight; requests and bursts are those of each model.");
  s.optional("streams", &LoadSpec::streams, {1, 10'000}, "Independent streams of such requests, laid over each other.");
  s.optional("clients", &LoadSpec::clients, {1, 1e7}, "Kind closed: clients that wait for their answers.");
  s.optional("think", &LoadSpec::think, {0, 1e6},
             "Kind closed: mean time from an answer to the next query; exponential.");
  s.optional("samples", &LoadSpec::samples, {1, 1e6},
             "Requests of a query; default: 8 of kind multi_stream, otherwise 1.");
  s.optional("seed", &LoadSpec::seed, {0, 9e18}, "Seed of all random numbers.");
  s.optional(
      "schedule_seed", &LoadSpec::schedule_seed, {-1, 4294967295},
      "Kind server: the lowest 32 bits, which alone count, of schedule_rng_seed of MLPerf's LoadGen, whose very arrivals are then sent; -1: those of seed.");
  return s;
}

/// A relative path counts from the folder of the file that it is in.
std::string path_from(const ConfigNode& node, const std::string& text) {
  const std::filesystem::path path = text;
  if (path.is_absolute()) return text;
  return (std::filesystem::path(config::folder_of_value(node)) / path).lexically_normal().string();
}

Schema<RunSpec> run_schema() {
  Schema<RunSpec> s("run", "How results are taken.");
  s.custom({"warm_up", "auto, or integer", "0 .. 1e12", "auto", "Requests that are not counted, the first to come."},
           false, [](RunSpec& out, const ConfigNode& node, const std::string& path) -> Result<void> {
             if (node.kind == ConfigNode::Kind::scalar && node.scalar == "auto") return {};
             const auto count = schema_detail::read_integer(node, path, {0, 1e12});
             if (!count.ok()) return schema_detail::expected(node, path, "auto, or an integer from 0 to 1e12");
             out.warm_up = *count;
             return {};
           });
  s.optional("drop_late", &RunSpec::drop_late, "Refuse requests that are predicted to miss their deadline.");
  s.optional(
      "max_wait", &RunSpec::max_wait, {1e-9, 1e6},
      "A policy that lets a request wait longer is an error; default: one that does so while every GPU that may execute the request has no work for 1,000 times what the longest model takes.");
  s.scalars("rates_per_s", &RunSpec::rates_per_s, kRate, "Rates to run one after the other; default: load.rate_per_s.",
            false, 1000);
  s.optional("confidence", &RunSpec::confidence, {0.5, 0.999}, "Of the intervals.");
  s.optional("max_in_system", &RunSpec::max_in_system, {1, 1e8},
             "Requests at a time; more is an overload that ends the run.");
  return s;
}

}  // namespace

Schema<ServingSpec> serving_schema() {
  Schema<ServingSpec> s("serving", "A serving experiment.");
  s.optional("title", &ServingSpec::title, "Title of the results; default: the name of the file.");
  s.optional("description", &ServingSpec::description, "Free text.");
  Schema<ClusterLinks> cluster("cluster", "Where links have their speeds from, if not given.");
  cluster.required("system", &ClusterLinks::system, "A system of `distsim list systems`, or a file.");
  s.nested("cluster", &ServingSpec::cluster, cluster);
  s.list("gpus", &ServingSpec::gpus, gpu_schema(), true, 10'000);
  s.list("models", &ServingSpec::models, model_schema(), true, 1'000);
  s.scalars("times", &ServingSpec::times, {}, "CSV files of measured layer times.");
  s.choice(
      "residency", &ServingSpec::residency,
      {{"resident", Residency::resident}, {"cached", Residency::cached}, {"streamed", Residency::streamed}},
      "Weights are on every GPU from the start, loaded when needed and evicted when others need the room, or loaded for every batch.");
  Schema<ClassSpec> service("classes", "Classes of service, which requests of all models belong to by weight.");
  service.required("name", &ClassSpec::name, "Name.");
  service.optional("weight", &ClassSpec::weight, {0, 1e9}, "Share of the requests, relative to the other classes.");
  service.optional("priority", &ClassSpec::priority, {-1000, 1000}, "Added to that of the model.");
  service.optional("deadline", &ClassSpec::deadline, {0, 1e5}, "Instead of that of the model; 0 s: that of the model.");
  s.list("classes", &ServingSpec::classes, service, false, 100);
  s.nested("load", &ServingSpec::load, load_schema(), true);
  s.custom({"policies", "list of names", "", "required",
            "Policies to compare: those of `distsim list policies`, or a library of your own (docs/serving.md), x.so."},
           true, [](ServingSpec& out, const ConfigNode& node, const std::string& path) -> Result<void> {
             const bool one = node.kind == ConfigNode::Kind::scalar;
             if (!one && node.kind != ConfigNode::Kind::sequence)
               return schema_detail::expected(node, path, "a list of policies");
             if (!one && node.items.empty()) return schema_detail::expected(node, path, "at least one policy");
             for (std::size_t i = 0; i < (one ? 1 : node.items.size()); ++i) {
               const ConfigNode& item = one ? node : node.items[i];
               const std::string at = one ? path : path + "[" + std::to_string(i) + "]";
               TRY_ASSIGN(const std::string name, schema_detail::read_string(item, at));
               const auto entry = name.ends_with(".so") ? load_policy(path_from(item, name)) : find_policy(name);
               if (!entry.ok()) return Error{at + ": " + entry.error().what, item.where.text(), entry.error().hint};
               if (std::ranges::find(out.policies, *entry) != out.policies.end())
                 return schema_detail::expected(item, at, "each policy once");
               out.policies.push_back(*entry);
             }
             return {};
           });
  Schema<BatchingSpec> batching("batching", "Of policies that batch.");
  batching.optional("size", &BatchingSpec::size, {1, 4096}, "Requests of a batch at most.");
  batching.optional("delay", &BatchingSpec::delay, {0, 1e5},
                    "dynamic_batching: how long the first request of a batch waits for others.");
  s.nested("batching", &ServingSpec::batching, batching);
  s.nested("run", &ServingSpec::run, run_schema());
  return s;
}

std::vector<std::string> serving_keys() {
  constexpr std::string_view kItem = "[]";
  std::vector<std::string> out;
  const Schema<ServingSpec> schema = serving_schema();
  for (const FieldDoc& d : schema.docs()) {
    std::string& key = out.emplace_back(d.key);
    for (std::size_t at = key.find(kItem); at != std::string::npos; at = key.find(kItem))
      key.replace(at, kItem.size(), ".0");
  }
  return out;
}

std::string serving_reference() {
  std::string out = "Keys of a serving experiment (distsim serving --config FILE):\n";
  const Schema<ServingSpec> schema = serving_schema();
  for (const FieldDoc& d : schema.docs()) {
    out += fmt::format("  {}  ({})\n{}", d.key, config::facts_of(d), d.doc.empty() ? "" : "      " + d.doc + "\n");
  }
  return out;
}

}  // namespace distsim::serving
