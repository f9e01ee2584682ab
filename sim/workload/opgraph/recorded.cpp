#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "base/text/counted.hpp"
#include "sim/workload/graph/iteration.hpp"
#include "sim/workload/opgraph/graph_kernels.hpp"
#include "sim/workload/opgraph/graph_workload.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

/// `stride` of ranks that follow each other at one distance; 1 where they do not, or are not known.
std::uint32_t stride_of(const std::vector<std::uint32_t>& ranks) {
  if (ranks.size() < 2 || ranks[1] <= ranks[0]) return 1;
  const std::uint32_t stride = ranks[1] - ranks[0];
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    if (ranks[i] != ranks[i - 1] + stride) return 1;
  }
  return stride;
}

class RecordedIteration {
 public:
  RecordedIteration(const opgraph::OpGraph& graph, const ModelSpec& model, const FrameworkSpec& framework,
                    std::uint32_t ranks)
      : graph_(graph),
        model_(model),
        ranks_(ranks),
        it_(ranks, framework, numerics_of(model.precision, framework)),
        kernels_(graph, 1, it_.numerics(), framework.host.eager) {}

  Result<Workload> build(const SamplePlan& samples) {
    for (const opgraph::Node& node : graph_.nodes) {
      if (node.waits_for) wait_for(collectives_[*node.waits_for]);
      if (node.communication)
        TRY(add_collective(node));
      else if (node.op == opgraph::kWait)
        wait_for_all();
      else
        add_kernels(node);
    }
    out_.samples = static_cast<double>(samples.total);
    out_.model_flops = flops_ * ranks_;
    out_.precision = types_.most(model_.precision);  // whatever the experiment says: they were recorded
    out_.assumptions.push_back({graph::AssumptionKind::batch, samples.describe()});
    end();
    describe();
    fill_memory();
    TRY_ASSIGN(out_.graph, std::move(it_).finish());
    return std::move(out_);
  }

 private:
  /// Collectives share a stream: who waits for one has waited for those before it.
  void wait_for(TaskId collective) {
    it_.compute_waits_for(collective);
    while (!open_.empty() && collective.valid() && open_.front() <= collective) open_.pop_front();
  }

  void wait_for_all() {
    if (!open_.empty()) wait_for(open_.back());  // also for those without tensors
    pending_.clear();
  }

  /// The iteration ends when all of its work has: of a collective that nothing waits for, too.
  void end() {
    unused_ = open_.size();
    wait_for_all();
  }

  void wait_for_collectives(const opgraph::Node& node) {
    if (pending_.empty()) return;
    const auto wait = [&](std::uint32_t tensor) {
      const auto at = pending_.find(graph_.tensors[tensor].storage);
      if (at == pending_.end()) return;
      wait_for(at->second);
      pending_.erase(at);
    };
    for (const opgraph::Argument& a : node.inputs) std::ranges::for_each(a.tensors, wait);
    std::ranges::for_each(node.outputs, wait);
  }

  void add_kernels(const opgraph::Node& node) {
    NodeKernels kernels = kernels_.of(node);
    if (!kernels.ops.empty()) wait_for_collectives(node);
    flops_ += matrix_flops(kernels.ops);
    for (LayerOp& op : kernels.ops) {
      types_.add(op);
      graph::TaskGraphBuilder::Options options{graph::Stream::compute, node.phase, op.dispatch};
      const auto* copy = std::get_if<graph::Copy>(&op.op);
      options.blocks_host = copy != nullptr && copy->kind == graph::CopyKind::d2h;
      it_.add(op.name, options, {std::move(op.op)});
    }
  }

  Result<graph::Partition> groups_of(const opgraph::Node& node) const {
    const std::uint32_t size = node.communication->size;
    if (size == 0 || size >= graph_.ranks) return it_.world();
    if (ranks_ % size != 0)
      return Error{"cluster: found " + counted(ranks_, "GPU") + ", expected a multiple of " + std::to_string(size) +
                       ", the ranks of a process group of " + graph_.file + ", " + node.label,
                   "", ""};
    const std::uint32_t stride = stride_of(node.communication->ranks);
    return graph::Partition::strided(size, ranks_ % (size * stride) == 0 ? stride : 1);
  }

  Result<void> add_collective(const opgraph::Node& node) {
    graph::Collective op = node.communication->op;
    if (ranks_ == 1 || node.communication->size == 1) {
      left_out_ += 1;
      return {};
    }
    if (op.bytes <= 0 && op.kind != graph::CollectiveKind::barrier) {
      unsized_ += 1;
      return {};
    }
    if (node.communication->per_rank)
      op.bytes = static_cast<std::int64_t>(std::min(static_cast<double>(op.bytes) * ranks_, 1e15));
    TRY_ASSIGN(const graph::Partition groups, groups_of(node));
    const bool sums = op.kind == graph::CollectiveKind::all_reduce || op.kind == graph::CollectiveKind::reduce_scatter;
    const graph::Phase phase =
        node.phase == graph::Phase::backward && sums ? graph::Phase::gradient_sync : graph::Phase::exchange;
    it_.begin_after_last_iteration();
    const TaskId task = it_.add_collective(node.label + "." + std::string(graph::name_of(op.kind)), graph::Stream::comm,
                                           phase, op, groups);
    collectives_[static_cast<std::uint32_t>(&node - graph_.nodes.data())] = task;
    open_.push_back(task);
    for (const opgraph::Argument& a : node.inputs) {
      for (const std::uint32_t t : a.tensors) pending_[graph_.tensors[t].storage] = task;
    }
    for (const std::uint32_t t : node.outputs) pending_[graph_.tensors[t].storage] = task;
    return {};
  }

  void describe() {
    const auto say = [&](const std::string& text) {
      out_.assumptions.push_back({graph::AssumptionKind::workload, "graph: " + text});
    };
    say("a recorded iteration (" + graph_.format + "), " + counted(graph_.nodes.size(), "call") +
        " with their recorded types; another batch needs another trace");
    say("samples/s count the batch that the experiment states; a trace states none");
    if (graph_.ranks != ranks_ && graph_.ranks > 1)
      say("recorded on " + counted(graph_.ranks, "rank") + ": what all of them did together, all " +
          counted(ranks_, "GPU") + " do");
    say(kernels_.coverage().text());
    for (const std::string& remark : graph_.remarks) say(remark);
    for (const opgraph::Left& left : graph_.left_out) say("left out: " + left.what + ": " + std::to_string(left.count));
    if (unsized_ > 0) say(counted(unsized_, "recorded collective") + " left out: no size is recorded");
    if (unused_ > 0)
      say("the next iteration waits for " + counted(unused_, "collective") +
          " at the end that nothing recorded waits for");
    if (left_out_ > 0) say(counted(left_out_, "recorded collective") + " left out: a group of one GPU");
  }

  /// Storages that are read before anything writes them were there before: weights and what is kept between iterations.
  void fill_memory() {
    std::unordered_set<std::uint64_t> made;
    std::unordered_map<std::uint64_t, double> kept;
    double parameters = 0;
    const auto look = [&](std::uint32_t tensor) {
      const opgraph::Tensor& t = graph_.tensors[tensor];
      if (t.storage == 0 || t.on_host || made.contains(t.storage)) return;
      double& bytes = kept[t.storage];
      const double more = std::max(0.0, kernels_.sizes().bytes(tensor) - bytes);
      bytes += more;
      if (t.element.floating) parameters += more / static_cast<double>(t.element.bytes);
    };
    for (const opgraph::Node& node : graph_.nodes) {
      for (const opgraph::Argument& a : node.inputs) std::ranges::for_each(a.tensors, look);
      for (const std::uint32_t t : node.outputs) {
        const std::uint64_t storage = graph_.tensors[t].storage;
        if (!kept.contains(storage)) made.insert(storage);
      }
    }
    double weights = 0;
    for (const auto& [storage, bytes] : kept) weights += bytes;
    RankMemory memory;
    memory.weights = static_cast<std::int64_t>(std::min(weights, 1e17));
    memory.activations = std::max<std::int64_t>(1, live_bytes(graph_, kernels_.sizes()) - memory.weights);
    out_.memory = {memory};
    out_.dense_parameters = static_cast<std::int64_t>(std::min(parameters, 1e17));
    out_.placement = "recorded: every rank runs what the recorded one ran\n";
  }

  const opgraph::OpGraph& graph_;
  const ModelSpec& model_;
  std::uint32_t ranks_;
  Iteration it_;
  GraphKernels kernels_;
  std::map<std::uint64_t, TaskId> pending_;  ///< the last collective of a storage that nothing has waited for
  double flops_ = 0;
  FlopsOfTypes types_;
  std::uint64_t left_out_ = 0, unsized_ = 0;
  std::deque<TaskId> open_;  ///< collectives that no compute task waits for yet, in order
  std::uint64_t unused_ = 0;
  std::unordered_map<std::uint32_t, TaskId> collectives_;  ///< by their place among the nodes
  Workload out_;
};

}  // namespace

namespace {

/// Storages that were there before the iteration, and that it changes: weights, their gradients where these are kept, and
/// the state of the optimizer. An input is there before as well, but nothing writes it.
std::unordered_set<std::uint64_t> kept_state(const opgraph::OpGraph& graph) {
  std::unordered_set<std::uint64_t> made, kept, state;
  for (const opgraph::Node& node : graph.nodes) {
    for (const opgraph::Argument& a : node.inputs) {
      for (const std::uint32_t t : a.tensors) {
        const std::uint64_t storage = graph.tensors[t].storage;
        if (storage == 0 || made.contains(storage)) continue;
        kept.insert(storage);
        if (node.phase == graph::Phase::optimizer) state.insert(storage);
      }
    }
    for (const std::uint32_t t : node.outputs) {
      const std::uint64_t storage = graph.tensors[t].storage;
      if (storage != 0) (kept.contains(storage) ? state : made).insert(storage);
    }
  }
  return state;
}

/// Sizes that inputs and activations begin with, and how often calls have them: tensors shaped as a weight are not counted, as
/// its gradient is.
std::map<std::int64_t, std::uint64_t> leading_sizes(const opgraph::OpGraph& graph) {
  const std::unordered_set<std::uint64_t> state = kept_state(graph);
  const auto shape_of = [](const opgraph::Tensor& t) {
    std::vector<std::int64_t> shape;
    for (const opgraph::Extent& e : t.dims) shape.push_back(e.constant);
    return shape;
  };
  std::set<std::vector<std::int64_t>> of_state;
  for (const opgraph::Tensor& t : graph.tensors) {
    if (state.contains(t.storage)) of_state.insert(shape_of(t));
  }
  std::map<std::int64_t, std::uint64_t> out;
  const auto count = [&](std::uint32_t tensor) {
    const opgraph::Tensor& t = graph.tensors[tensor];
    if (!t.dims.empty() && !of_state.contains(shape_of(t))) ++out[t.dims.front().constant];
  };
  for (const opgraph::Node& node : graph.nodes) {
    for (const opgraph::Argument& a : node.inputs) std::ranges::for_each(a.tensors, count);
    std::ranges::for_each(node.outputs, count);
  }
  return out;
}

/// Nothing in a trace says what its batch was; inputs and activations begin with it, some behind other sizes.
Result<void> check_recorded_batch(const opgraph::OpGraph& graph, const ModelSpec& model, std::int64_t batch) {
  if (graph.tensors.empty()) return {};  // operations and bytes alone
  const std::map<std::int64_t, std::uint64_t> sizes = leading_sizes(graph);
  if (sizes.contains(batch)) return {};
  const auto most = std::ranges::max_element(sizes, {}, [](const auto& size) { return size.second; });
  return Error{batch_key(model) + ": found " + counted(batch, "sample") +
                   " of a GPU, expected the batch that was recorded: no input and no activation of " + graph.file +
                   " begins with a size of " + std::to_string(batch) +
                   (most == sizes.end() ? "" : "; most begin with " + std::to_string(most->first)),
               "", ""};
}

}  // namespace

Result<Workload> build_recorded(const opgraph::OpGraph& graph, const ModelSpec& model, const FrameworkSpec& framework,
                                const ClusterShape& shape, const SamplePlan& samples) {
  TRY(only_training(model, "a recorded iteration"));
  if (samples.micro_steps != 1)
    return Error{"model.accumulation: found " + std::to_string(samples.micro_steps) +
                     ", expected 1: a recorded iteration has the micro-steps that it ran",
                 "", ""};
  TRY(check_recorded_batch(graph, model, samples.micro_step(0).largest()));
  return RecordedIteration(graph, model, framework, shape.ranks()).build(samples);
}

}  // namespace distsim::workload
