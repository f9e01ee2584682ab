// What is emulated, in the form that the emulator plays: integers only, names resolved, every time looked up.
//
// A model is a chain or a graph of layers. Executing layers [a, b) of it as a batch of n requests on a GPU of one kind takes
//     time = factor x (sum over layers a <= l < b of time(l, kind, n) - what branches save on the GPU's streams),
// where the factor is that of the slowest request of the batch (1 unless the model's service time varies).
// On a shared GPU a layer keeps parts of it busy: those of its model, or its own where layers were priced (LayerUse).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "sim/serving/emulator/layer_graph.hpp"
#include "sim/serving/load/longest_run.hpp"

namespace distsim::serving {

constexpr std::uint32_t kHost = std::numeric_limits<std::uint32_t>::max();  ///< a place that is no GPU
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// How the service time of a model's requests varies; the mean of the factor is 1.
enum class Variation : std::uint8_t { none, exponential, lognormal };

/// How several pieces of work on one GPU are executed: one after the other, at the same time, or, by a group of GPUs that
/// stands as one, in the stages of a pipeline, each of which works at one piece at a time.
enum class Execution : std::uint8_t { serial, shared, pipeline };

/// Where weights are: on every GPU from the start, loaded where they are first needed and evicted least recently used
/// first, or loaded anew for each piece of work.
enum class Residency : std::uint8_t { resident, cached, streamed };

/// Parts of a resource that a layer keeps busy where it runs alone, 0 to 1: what work on a shared GPU competes for.
struct Demand {
  double sm = 1;      ///< SMs
  double memory = 0;  ///< memory bandwidth
  double launch = 0;  ///< the host thread that launches kernels, one for the GPU
  bool operator==(const Demand&) const = default;
};

struct Model {
  std::string name;
  std::uint32_t layers = 0;
  std::uint32_t max_batch = 1;
  std::int64_t weight_bytes = 0;
  std::int64_t input_bytes = 0, output_bytes = 0;  ///< of one request
  std::int64_t state_bytes = 0;                    ///< of one request between two layers, which a move carries
  std::int64_t deadline_ps = kNever;               ///< from the arrival of the request
  std::int32_t priority = 0;                       ///< higher first
  double weight = 1;                               ///< share of the requests, relative
  std::int64_t size_ps = 0;  ///< predicted time of a request, mean over the kinds of GPU: what sorts by size goes by
  Variation variation = Variation::none;
  double cv = 1;        ///< standard deviation over mean of the factor, where it is lognormal
  Demand demand;        ///< of each of its layers, where these have none of their own
  double sm_limit = 1;  ///< part of the SMs that its work may use on a shared GPU (MPS: active thread percentage)
  std::vector<std::int64_t> state_after;  ///< as state_bytes, after each layer; empty: state_bytes after all
  bool cells = false;  ///< all layers are the same cell, so that requests at different layers may share a batch
  LayerGraph graph;    ///< which layers need which

  bool refused = false;  ///< no GPU has it: its requests are refused as they come

  /// What a move carries of one request of which `done` layers are executed. Precondition: done > 0.
  std::int64_t state_at(std::uint32_t done) const { return state_after.empty() ? state_bytes : state_after[done - 1]; }
};

/// A class of requests, of any model: what it is promised and how urgent it is.
struct ServiceClass {
  std::string name;
  double weight = 1;                  ///< share of the requests, relative
  std::int32_t priority = 0;          ///< added to that of the model
  std::int64_t deadline_ps = kNever;  ///< from the arrival; kNever: that of the model
};

struct Gpu {
  std::string name;
  std::uint32_t kind = 0;
  std::int64_t memory_bytes = kNever;
  std::uint32_t slots = 1;  ///< pieces of work that it holds at a time
  Execution execution = Execution::serial;
  std::uint32_t stages = 1;                                                                     ///< of a pipeline
  std::uint32_t host_in = 0, host_out = 0, peer_in = 0, peer_out = 0, box_in = 0, box_out = 0;  ///< links
  std::uint32_t box = 0;
  bool peers = false;                     ///< sends to other GPUs of its box without the host
  double idle_watts = 0, busy_watts = 0;  ///< drawn while nothing is executed, and while something is; 0: not known
};

/// How branches of a model are executed on the streams of a GPU (gpus/stream_plan.hpp).
struct StreamPlan {
  /// By layer of a block: those of it that are done before. Empty: one layer after the other.
  using Order = std::vector<std::vector<std::uint32_t>>;
  std::vector<Order> orders;        ///< by batch and block of more than one layer
  std::vector<std::int64_t> saved;  ///< by batch and position: what the blocks before it take less than in a chain
};

struct Link {
  std::string name;
  double bytes_per_s = 0;
  std::int64_t latency_ps = 0;
};

class Scenario {
 public:
  std::vector<std::string> kinds;
  std::vector<Model> models;
  std::vector<Gpu> gpus;
  std::vector<Link> links;
  std::vector<ServiceClass> classes;  ///< empty: all requests are of one
  Residency residency = Residency::resident;

  std::uint32_t class_count() const { return classes.empty() ? 1 : static_cast<std::uint32_t>(classes.size()); }

  /// Times of one model on one kind of GPU: for each batch 1..max_batch the running sums over its layers, 0 first.
  void set_times(std::uint32_t kind, std::uint32_t model, std::vector<std::int64_t> sums) {
    if (sums_.size() < kinds.size() * models.size()) sums_.resize(kinds.size() * models.size());
    sums_[kind * models.size() + model] = std::move(sums);
  }
  bool runs_on(std::uint32_t kind, std::uint32_t model) const { return !sums_[kind * models.size() + model].empty(); }
  /// Of layers [begin, end) as a batch, one after the other. Precondition: runs_on.
  std::int64_t serial_ps(std::uint32_t kind, std::uint32_t model, std::uint32_t begin, std::uint32_t end,
                         std::uint32_t batch) const {
    const std::vector<std::int64_t>& sums = sums_[kind * models.size() + model];
    const std::int64_t* row = sums.data() + static_cast<std::size_t>(batch - 1) * (models[model].layers + 1);
    return row[end] - row[begin];
  }
  /// The same with branches on the streams of the GPU.
  std::int64_t time_ps(std::uint32_t kind, std::uint32_t model, std::uint32_t begin, std::uint32_t end,
                       std::uint32_t batch) const {
    const std::int64_t serial = serial_ps(kind, model, begin, end, batch);
    return streams_.empty() ? serial : serial - saved_ps(kind, model, begin, end, batch);
  }

  /// How blocks are executed on a kind of GPU; without, branches are executed one after the other.
  void set_streams(std::uint32_t kind, std::uint32_t model, StreamPlan plan) {
    if (streams_.size() < kinds.size() * models.size()) streams_.resize(kinds.size() * models.size());
    streams_[kind * models.size() + model] = std::move(plan);
  }
  bool branches(std::uint32_t kind, std::uint32_t model) const {
    return !streams_.empty() && !streams_[kind * models.size() + model].orders.empty();
  }
  /// Null: one layer after the other.
  const StreamPlan::Order* order(std::uint32_t kind, std::uint32_t model, std::uint32_t batch,
                                 std::size_t block) const {
    if (!branches(kind, model)) return nullptr;
    const StreamPlan& plan = streams_[kind * models.size() + model];
    const StreamPlan::Order& order = plan.orders[(batch - 1) * models[model].graph.blocks().size() + block];
    return order.empty() ? nullptr : &order;
  }

  /// What layers keep busy, by batch and layer as set_times without the sums, and the running sums of joules. After
  /// set_times.
  void set_uses(std::uint32_t kind, std::uint32_t model, std::vector<Demand> demands, std::vector<double> joules) {
    if (uses_.size() < kinds.size() * models.size()) uses_.resize(kinds.size() * models.size());
    const std::uint32_t layers = models[model].layers;
    std::vector<Demand> sums;
    for (std::uint32_t batch = 1; batch * layers <= demands.size(); ++batch) {
      sums.push_back({0, 0, 0});
      for (std::uint32_t l = 0; l < layers; ++l) {
        const auto time = static_cast<double>(serial_ps(kind, model, l, l + 1, batch));
        const Demand &d = demands[(batch - 1) * layers + l], &before = sums.back();
        sums.push_back({before.sm + d.sm * time, before.memory + d.memory * time, before.launch + d.launch * time});
      }
    }
    uses_[kind * models.size() + model] = {std::move(demands), std::move(joules), std::move(sums)};
  }
  /// Of each layer of the model at this batch; null where they have none of their own.
  const Demand* demands(std::uint32_t kind, std::uint32_t model, std::uint32_t batch) const {
    if (uses_.empty()) return nullptr;
    const std::vector<Demand>& all = uses_[kind * models.size() + model].demands;
    return all.empty() ? nullptr : all.data() + static_cast<std::size_t>(batch - 1) * models[model].layers;
  }
  /// Whether any model says what it keeps busy, beside all SMs.
  bool has_demands() const {
    return !uses_.empty() || std::ranges::any_of(models, [](const Model& m) { return m.demand != Demand(); });
  }
  /// Time of whole resources that layers [begin, end) as a batch keep busy: their demands x their times.
  Demand busy_ps(std::uint32_t kind, std::uint32_t model, std::uint32_t begin, std::uint32_t end,
                 std::uint32_t batch) const {
    const std::size_t at = kind * models.size() + model;
    if (!uses_.empty() && !uses_[at].busy_ps.empty()) {
      const Demand* row = uses_[at].busy_ps.data() + static_cast<std::size_t>(batch - 1) * (models[model].layers + 1);
      return {row[end].sm - row[begin].sm, row[end].memory - row[begin].memory, row[end].launch - row[begin].launch};
    }
    const auto time = static_cast<double>(serial_ps(kind, model, begin, end, batch));
    const Demand& d = models[model].demand;
    return {d.sm * time, d.memory * time, d.launch * time};
  }
  /// Above idle, of layers [begin, end) as a batch: joules of what was priced, or the GPU's busy power for the time.
  double joules(const Gpu& gpu, std::uint32_t model, std::uint32_t begin, std::uint32_t end,
                std::uint32_t batch) const {
    const std::size_t at = gpu.kind * models.size() + model;
    if (!uses_.empty() && !uses_[at].joules.empty()) {
      const double* row = uses_[at].joules.data() + static_cast<std::size_t>(batch - 1) * (models[model].layers + 1);
      return row[end] - row[begin];
    }
    if (gpu.busy_watts <= gpu.idle_watts) return 0;
    return (gpu.busy_watts - gpu.idle_watts) * 1e-12 * static_cast<double>(time_ps(gpu.kind, model, begin, end, batch));
  }

 private:
  struct Uses {
    std::vector<Demand> demands;
    std::vector<double> joules;
    std::vector<Demand> busy_ps;  ///< running sums of demand x time
  };
  std::int64_t saved_ps(std::uint32_t kind, std::uint32_t model, std::uint32_t begin, std::uint32_t end,
                        std::uint32_t batch) const {
    if (!branches(kind, model)) return 0;
    const LayerGraph& graph = models[model].graph;
    const std::uint32_t from = graph.joint_from(begin), to = graph.joint_to(end);
    if (from >= to) return 0;
    const std::int64_t* row = streams_[kind * models.size() + model].saved.data() +
                              static_cast<std::size_t>(batch - 1) * (models[model].layers + 1);
    return row[to] - row[from];
  }

  std::vector<std::vector<std::int64_t>> sums_;
  std::vector<Uses> uses_;
  std::vector<StreamPlan> streams_;
};

}  // namespace distsim::serving
