// A captured graph whose embedding tables belong to ranks, as those of kind dlrm do.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/workload/dlrm/dlrm_emission.hpp"
#include "sim/workload/graph/memory.hpp"
#include "sim/workload/opgraph/captured_model.hpp"
#include "sim/workload/opgraph/module_names.hpp"
#include "sim/workload/opgraph/split/found_tables.hpp"
#include "sim/workload/opgraph/split/sharded_weights.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

constexpr double kMostElements = 1e17;  // of all tables, as of kind dlrm

/// Those that the key asks for.
Result<std::vector<FoundTable>> chosen_tables(const CapturedModel& m) {
  std::vector<FoundTable> all = find_tables(m.graph);
  if (all.empty())
    return Error{"model.graph.tables: found no parameter of the graph that only lookups read, expected one", "",
                 "tables: none"};
  if (!m.spec.tables.all) {
    ModuleNames names(m.spec.tables.modules);
    std::string example = all.front().module;
    std::erase_if(all, [&](const FoundTable& t) { return names.of(t.module) == ModuleNames::kNone; });
    if (!names.unused().empty())
      return Error{"model.graph.tables: found " + in_quotes(names.unused().front()) +
                       ", expected the module of an embedding table, such as " + in_quotes(example),
                   "", ""};
  }
  for (const opgraph::Gradient& g : m.graph.gradients) {
    if (!g.sparse || std::ranges::find(all, g.parameter, &FoundTable::parameter) != all.end()) continue;
    return Error{"model.graph.tables: expected the module of " + in_quotes(m.graph.tensors[g.parameter].name) +
                     " among them: its gradient is sparse in the model, and has no all-reduce",
                 "", ""};
  }
  double elements = 0;
  for (const FoundTable& t : all) elements += static_cast<double>(t.rows) * static_cast<double>(t.dim);
  if (elements > kMostElements)
    return Error{"model.graph.tables: found " + std::to_string(elements) + " elements in total, expected at most 1e17",
                 "", ""};
  return all;
}

DlrmSpec spec_of(const GraphSpec& spec, const std::vector<FoundTable>& tables) {
  DlrmSpec out = spec.embedding;
  out.dense_features = 0;
  out.bottom_mlp.clear(), out.top_mlp.clear(), out.tables.clear();
  out.embedding_dim = tables.front().dim;
  for (const FoundTable& t : tables) out.tables.push_back({t.rows, t.dim, t.ids, -1, t.features, 1});
  return out;
}

DlrmShape vectors_of(const std::vector<FoundTable>& tables) {
  DlrmShape shape;
  for (const FoundTable& t : tables) shape.vectors += t.features, shape.embedding_width += t.features * t.dim;
  return shape;
}

class TabledIteration {
 public:
  /// `split`: of the weights that are in no table.
  TabledIteration(const CapturedModel& m, const DlrmSpec& spec, const DlrmShape& shape, const GraphWithoutTables& cut,
                  WeightSplit split)
      : m_(m),
        cut_(cut),
        checkpoints_(cut.graph, m.spec.checkpoint),
        state_(m, cut.graph, checkpoints_, split),
        parts_(m.spec, cut.graph, checkpoints_, ends()),
        plan_{.model = m.model,
              .spec = spec,
              .framework = m.framework,
              .samples = m.samples,
              .cluster = m.cluster,
              .shape = shape,
              .numerics = numerics_of(m.model.precision, m.framework),
              .first = m.samples.micro_step(0)},
        stacks_([this](std::int64_t n) { return parts_.layers(n, plan_.context(), coverage_); }) {}

  Result<Workload> build() {
    const std::vector<Layer>& layers = stacks_.of(plan_.first).largest();
    for (const Layer& layer : layers) dense_ += parameters_of(layer);
    plan_.input_bytes = std::max(0.0, m_.input_bytes - cut_.id_bytes);
    plan_.dense = splits_weights() ? state_.memory(plan_.numerics)
                                   : dense_memory(dense_, m_.model.optimizer, plan_.numerics, plan_.ranks());
    plan_.dense.activations = saved_bytes_of(layers);
    if (!splits_weights()) plan_.dense.weights += m_.kept.bytes();
    // Received vectors, and their gradients.
    plan_.dense.buffers += 2 * plan_.first.largest() * plan_.shape.embedding_width * plan_.exchanged_element_bytes();
    TRY(plan_tables(plan_));
    out_.memory = memory_of(plan_);
    TRY(check_memory(out_.memory, plan_.ranks(), m_.cluster.memory_per_gpu));
    describe(layers);
    TRY_ASSIGN(out_.graph, emit());
    return std::move(out_);
  }

 private:
  bool splits_weights() const { return state_.split().state != StateSplit::none; }

  std::vector<bool> ends() const {
    std::vector<bool> out = splits_weights() ? state_.ends() : std::vector<bool>(cut_.graph.nodes.size(), false);
    for (const std::uint32_t end : {cut_.ids_end, cut_.arrive, cut_.leave + 1}) {
      if (end > 0 && end <= out.size()) out[end - 1] = true;
    }
    return out;
  }

  void describe(const std::vector<Layer>& layers) {
    const double per_sample = forward_matrix_flops(layers) / static_cast<double>(plan_.first.largest());
    out_.samples = static_cast<double>(m_.samples.total);
    out_.model_flops = coverage_.work_of_forward() * per_sample * out_.samples;
    out_.precision = m_.model.precision;
    out_.dense_parameters = dense_;
    for (const ModelTable& t : plan_.placement.tables) out_.embedding_parameters += t.rows * t.dim;
    out_.assumptions.push_back({graph::AssumptionKind::batch, m_.samples.describe()});
    out_.placement = out_.table_places = plan_.placement.describe();
    if (splits_weights()) out_.placement += state_.text() + "\n";
    m_.describe(out_, coverage_);
    out_.assumptions.push_back(
        {graph::AssumptionKind::workload, "graph: " + counted(plan_.spec.tables.size(), "embedding table") + " of " +
                                              std::to_string(out_.embedding_parameters) +
                                              " parameters split over the ranks, updated row by row"});
  }

  std::vector<PendingGradient> gradients(const std::vector<Layer>& layers) const {
    std::vector<PendingGradient> out;
    double flops = 0;
    for (const Layer& layer : layers) {
      flops += matrix_flops(layer.backward);
      if (splits_weights()) continue;  // these have collectives of their own
      for (const Parameter& p : layer.parameters) out.push_back({p.elements, flops});
    }
    append_table_gradients(plan_, flops, out);
    return out;
  }

  Result<graph::TaskGraph> emit() {
    DlrmEmission e(plan_);
    if (splits_weights()) weights_.emplace(m_, state_, e.it);
    return emit_micro_steps(
        e, gradients(stacks_.of(plan_.first).largest()), splits_weights() ? state_.share_of(dense_) : dense_,
        [this](DlrmEmission& to, const SampleSplit& split) { forward(to, split); },
        [this](DlrmEmission& to, const SampleSplit& split, bool accumulate, GradientSynchronizer* sync) {
          backward(to, split, accumulate, sync);
        },
        splits_weights() ? state_.tensors() : 0);
  }

  void forward(DlrmEmission& e, const SampleSplit& split) {
    const bool overlap = m_.framework.embedding.overlap_exchange;
    const LayerStack& stack = stacks_.of(split);
    if (weights_) weights_->begin_step();
    add_ids(e, split);
    TaskId vectors;
    bool begun = false, arrived = false;
    const auto begin = [&] {
      if (std::exchange(begun, true)) return;
      add_lookups(e, split);
      vectors = add_exchange(e, split, Direction::owners_to_samples);
      if (!overlap) e.it.compute_waits_for(vectors);
    };
    const auto arrive = [&] {
      if (std::exchange(arrived, true)) return;
      add_replicated(e, split, graph::Pass::forward, nullptr);
      if (overlap) e.it.compute_waits_for(vectors);
      add_unpacking(e, split, "embedding.unpack", graph::Phase::forward);
    };
    for (std::size_t p = 0; p < parts_.parts().size() && parts_.parts()[p].forward; ++p) {
      if (parts_.parts()[p].begin >= cut_.ids_end) begin();
      if (parts_.parts()[p].begin >= cut_.arrive) arrive();
      if (weights_) weights_->before(parts_.parts()[p]);
      e.it.add_forward(stack, p, split);
    }
    begin();
    arrive();
  }

  void backward(DlrmEmission& e, const SampleSplit& split, bool accumulate, GradientSynchronizer* sync) {
    const LayerStack& stack = stacks_.of(split);
    const bool overlap = m_.framework.embedding.overlap_exchange;
    TaskId vectors;
    bool left = false;
    const auto leave = [&] {
      if (std::exchange(left, true)) return;
      add_unpacking(e, split, "embedding.pack.dgrad", graph::Phase::backward);
      vectors = add_exchange(e, split, Direction::samples_to_owners);
      if (!overlap) e.it.compute_waits_for(vectors);
    };
    for (std::size_t p = 0; p < parts_.parts().size(); ++p) {
      const GraphPart& part = parts_.parts()[p];
      if (part.forward) continue;
      if (part.begin > cut_.leave) leave();
      if (weights_) {
        weights_->before(part);
        e.it.add_backward(stack, p, split);
        weights_->after(part);
      } else {
        add_backward_of(e.it, stack, p, split, accumulate, sync);
      }
    }
    leave();
    add_replicated(e, split, graph::Pass::backward, sync);
    add_frequent_gradients(e, split, sync);
    if (weights_) weights_->end_step(accumulate);
    if (overlap) e.it.compute_waits_for(vectors);
    add_sparse_update(e, split, sync != nullptr);
  }

  const CapturedModel& m_;
  const GraphWithoutTables& cut_;
  Checkpoints checkpoints_;
  ShardedState state_;
  GraphParts parts_;
  GraphCoverage coverage_;
  DlrmPlan plan_;
  LayerStacks stacks_;
  std::optional<ShardedWeights> weights_;
  std::int64_t dense_ = 0;
  Workload out_;
};

}  // namespace

Result<Workload> build_with_tables(const CapturedModel& model, StateSplit state) {
  TRY_ASSIGN(const WeightSplit split, weight_split(model, state));
  TRY_ASSIGN(const std::vector<FoundTable> tables, chosen_tables(model));
  const DlrmSpec spec = spec_of(model.spec, tables);
  const Numerics numerics = numerics_of(model.model.precision, model.framework);
  const graph::DType wire = spec.exchange_dtype.value_or(numerics.activation);
  const GraphWithoutTables cut = without_tables(model.graph, tables, {wire, graph::size_of(wire), true});
  return TabledIteration(model, spec, vectors_of(tables), cut, split).build();
}

}  // namespace distsim::workload
