#include "sim/pipeline/kernel_time.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.hpp"
#include "base/text/counted.hpp"
#include "sim/pipeline/correction/graph_correction.hpp"

namespace distsim::pipeline {
namespace {

Result<graph::Cost> scaled(graph::Cost cost, double factor) {
  TRY_ASSIGN(cost.mean, Duration::from_seconds(cost.mean.seconds() * factor));
  TRY_ASSIGN(cost.low, Duration::from_seconds(cost.low.seconds() * factor));
  TRY_ASSIGN(cost.high, Duration::from_seconds(cost.high.seconds() * factor));
  return cost;
}

/// Of a kernel: measured, or carried from the device or the clock that it was measured at. Such a time needs no correction for
/// its device.
bool is_of_table(const graph::Cost& cost) {
  return cost.basis == graph::Basis::measured || cost.basis == graph::Basis::scaled;
}

double factor_of(const Correction& c, const graph::BoundShares& shares) {
  return 1 + shares.matrix * (c.matrix - 1) + (shares.vector + shares.memory) * (c.memory - 1);
}

double factor_of(const KernelTime& t, const graph::Cost& cost, double graph_ratio) {
  const double factor = graph_ratio * framework_factor(t, cost) * device_factor(t, cost);
  if (is_of_table(cost)) return t.slowest * factor;
  const double least = cost.least.seconds() / cost.mean.seconds();
  return t.slowest * std::max(factor, least);
}

/// What kernels keep busy, one after the other.
class Mix {
 public:
  void add(const graph::Cost& cost, double times) {
    const double seconds = cost.mean.seconds() * times;
    seconds_ += seconds;
    sum_.matrix += seconds * cost.busy.matrix;
    sum_.vector += seconds * cost.busy.vector;
    sum_.memory += seconds * cost.busy.memory;
  }
  topology::UnitsBusy busy() const {
    if (seconds_ <= 0) return {};
    return {sum_.matrix / seconds_, sum_.vector / seconds_, sum_.memory / seconds_};
  }

 private:
  double seconds_ = 0;
  topology::UnitsBusy sum_;
};

std::string provenance(const topology::FitEvidence& e) {
  if (e.rows == 0) return "";
  return fmt::format(", fitted on {} of {}", counted(static_cast<std::uint64_t>(e.rows), "row"),
                     counted(static_cast<std::uint64_t>(e.systems), "system"));
}

void describe_correction(const Correction& c, const char* owner, std::vector<std::string>& out) {
  const auto add = [&](double factor, const char* bound) {
    if (factor != 1)
      out.push_back(fmt::format("{}-bound kernel times x{:.3f} ({}{})", bound, factor, owner, provenance(c.evidence)));
  };
  add(c.matrix, "matrix");
  add(c.memory, "memory");
}

/// Whether kernels that a factor of the device applies to have matrix products of the other width.
bool has_others(const graph::CostedGraph& graph, const KernelTime& t) {
  for (std::uint32_t i = 0; i < graph.graph.ops.size(); ++i) {
    const graph::Cost& cost = graph.costs[OpId(i)];
    if (graph::work_of(graph.graph.ops[OpId(i)]) == graph::Work::kernel && cost.described_shares.matrix > 0 &&
        !is_of_table(cost) && cost.wide_products != t.wide)
      return true;
  }
  return false;
}

}  // namespace

double framework_factor(const KernelTime& t, const graph::Cost& cost) {
  return factor_of(t.framework, cost.described_shares);
}

double device_factor(const KernelTime& t, const graph::Cost& cost) {
  if (is_of_table(cost)) return 1;
  const double matrix = cost.wide_products == t.wide ? t.device.matrix : t.other_matrix;
  return factor_of({matrix, t.device.memory, {}}, cost.described_shares);
}

KernelTime kernel_time_of(const workload::FrameworkSpec& framework, const topology::DeviceSpec& device,
                          workload::Precision precision, std::uint32_t ranks) {
  const bool wide = precision == workload::Precision::fp32 || precision == workload::Precision::tf32;
  const topology::DeviceCalibration& c = device.calibration;
  KernelTime t;
  t.framework = {framework.kernels.matrix, framework.kernels.memory, framework.evidence};
  t.device = {wide ? c.matrix_32bit : c.matrix_16bit, c.memory, c.evidence};
  t.wide = wide;
  t.other_matrix = wide ? c.matrix_16bit : c.matrix_32bit;
  t.clock = device.clock;
  t.power_limit = device.power_limit;
  t.priced = topology::clock_of_prices(device);
  t.slowest = 1 + c.speed_variation * expected_largest_of(ranks);
  return t;
}

bool has_kernels(const graph::CostedGraph& graph) {
  return std::any_of(graph.graph.ops.begin(), graph.graph.ops.end(),
                     [](const graph::Op& op) { return graph::work_of(op) == graph::Work::kernel; });
}

HeldClock held_clock(const graph::CostedGraph& graph, const KernelTime& t) {
  const Hertz before = topology::clock_before_limits(t.clock, t.power_limit);
  Mix mix;
  std::vector<double> times(graph.graph.ops.size(), 0);  // of variants, which a rank has one of
  for (const graph::Task& task : graph.graph.tasks) times[task.first_op.value()] += 1.0 / task.variants;
  std::vector<bool> added(graph.graph.ops.size(), false);
  for (const graph::Task& task : graph.graph.tasks) {
    if (added[task.first_op.value()]) continue;  // tasks that share their ops
    added[task.first_op.value()] = true;
    const double share = times[task.first_op.value()];
    for (std::uint32_t v = 0; v < task.variants; ++v) {
      const OpId id(task.first_op.value() + v);
      if (graph::work_of(graph.graph.ops[id]) == graph::Work::kernel) mix.add(graph.costs[id], share);
      if (const auto* sequence = std::get_if<graph::Sequence>(&graph.graph.ops[id])) {
        for (const graph::SequencePart& part : graph.graph.sequences[static_cast<std::size_t>(sequence->index)])
          mix.add(graph.costs[part.op], part.times * share);
      }
    }
  }
  return {before, topology::clock_of_mix(t.clock, t.power_limit, mix.busy(), t.priced), t.priced};
}

Result<opmodels::GraphNetwork::Answer> graph_answer(const graph::CostedGraph& graph, const KernelTime& t) {
  if (!t.graphs_on) return opmodels::GraphNetwork::Answer{};
  TRY_ASSIGN(const auto network, shipped_graph_network());
  return network->ask(opmodels::graph_facts(graph, *t.graphs_on));
}

Result<void> scale_kernels(graph::CostedGraph& graph, const KernelTime& t, const HeldClock& clock) {
  TRY_ASSIGN(const opmodels::GraphNetwork::Answer learned, graph_answer(graph, t));
  for (std::uint32_t i = 0; i < graph.graph.ops.size(); ++i) {
    const OpId id(i);
    graph::Cost& cost = graph.costs[id];
    const bool predicted = graph::work_of(graph.graph.ops[id]) == graph::Work::kernel;
    if (!predicted || cost.mean == Duration()) continue;
    if (clock.slower() != 1) {
      TRY_ASSIGN(cost, graph::at_clock(cost, clock.slower()));
    }
    const double factor = factor_of(t, cost, learned.ratio);
    if (learned.inside) {
      cost.basis = graph::Basis::learned;
      cost.source = "learned graph";
    }
    if (factor == 1) continue;
    TRY_ASSIGN(cost, scaled(cost, factor));
  }
  return graph::sum_sequences(graph);
}

std::vector<std::string> describe(const KernelTime& t, const graph::CostedGraph& graph) {
  std::vector<std::string> out;
  describe_correction(t.framework, "framework", out);
  describe_correction(t.device, "device", out);
  if (t.other_matrix != 1 && has_others(graph, t))
    out.push_back(fmt::format("matrix-bound kernel times of {} bits x{:.3f} (device{})", t.wide ? "16 and fewer" : "32",
                              t.other_matrix, provenance(t.device.evidence)));
  if (t.slowest != 1) out.push_back(fmt::format("kernel times x{:.3f} (slowest rank)", t.slowest));
  return out;
}

std::string describe(const HeldClock& clock, Watts power_limit) {
  if (clock.held >= clock.before) return "";
  return fmt::format("SM clock {:.2f} of {:.2f} GHz (power limit {:.0f} W)", clock.held.value() * 1e-9,
                     clock.before.value() * 1e-9, power_limit.value());
}

std::string describe_host(const workload::FrameworkSpec& framework) {
  const workload::FrameworkSpec::Host& host = framework.host;
  if (host.scale == 1 || host.cuda_graph) return "";
  return fmt::format("host time per call x{:.3f} (framework{})", host.scale, provenance(framework.evidence));
}

}  // namespace distsim::pipeline
