#include "sim/pipeline/contention/contention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text/counted.hpp"
#include "base/threads/stop.hpp"

namespace distsim::pipeline {
namespace {

using Demand = engine::Contention::Demand;
using Groups2 = std::vector<std::vector<std::uint32_t>>;
constexpr std::size_t kMostWords = 4;
/// A rank's step takes 240 to 360 bytes as its list entry, times, demands and event, measured on pipelines of 64 ranks;
/// 8 GB are what a small machine has to give.
constexpr std::uint64_t kBytesOfRankStep = 350, kMostRankSteps = 8'000'000'000 / kBytesOfRankStep;

/// The key that asked for every rank's list.
std::string_view key_of(const config::EngineSpec& engine) {
  if (engine.jobs > 1) return "engine.jobs";
  if (!engine.slow_nics.empty()) return "engine.slow_nics";
  return engine.uplink_load > 0 ? "engine.uplink_load" : "engine.contention";
}

Result<void> check_program_size(const engine::Program& program, const config::EngineSpec& engine) {
  const std::uint64_t steps =
      std::uint64_t{program.ranks} * program.steps.size() * static_cast<std::uint64_t>(engine.jobs);
  if (steps <= kMostRankSteps) return {};
  return Error{
      fmt::format(
          "{}: found {:.3g} million steps over all ranks, which take about {:.3g} GB to simulate, expected at most {:.3g} million (8 GB)",
          key_of(engine), static_cast<double>(steps) * 1e-6, static_cast<double>(steps * kBytesOfRankStep) * 1e-9,
          static_cast<double>(kMostRankSteps) * 1e-6),
      "", "use fewer nodes (cluster.nodes), or fewer micro-batches (model.global_batch)"};
}

Groups2 members_of(const engine::Groups& g, std::uint32_t ranks) {
  Groups2 out;
  for (std::size_t i = 0; i + 1 < g.offsets.size(); ++i) {
    out.emplace_back(g.members.begin() + g.offsets[i], g.members.begin() + g.offsets[i + 1]);
    std::sort(out.back().begin(), out.back().end());
  }
  for (std::uint32_t base = 0; base < ranks && !g.listed(); base += g.size * g.stride) {
    for (std::uint32_t first = base; first < base + g.stride; ++first) {
      out.emplace_back();
      for (std::uint32_t i = 0; i < g.size; ++i) out.back().push_back(first + i * g.stride);
    }
  }
  return out;
}

/// Several copies of a program, each with its own ranks.
engine::IrregularProgram copies_of(const engine::IrregularProgram& one, std::uint32_t jobs) {
  engine::IrregularProgram all = one;
  all.ranks = one.ranks * jobs;
  std::vector<StepId> waits;
  for (std::uint32_t job = 1; job < jobs; ++job) {
    const auto steps = static_cast<std::uint32_t>(one.steps.size()),
               meetings = static_cast<std::uint32_t>(one.meeting_sizes.size());
    for (StepId s(0); s < one.steps.end_id(); s = StepId(s.value() + 1)) {
      engine::RankStep step = one.steps[s];
      step.rank = RankId(step.rank.value() + job * one.ranks);
      if (step.meeting != engine::RankStep::kAlone) step.meeting += job * meetings;
      waits.clear();
      for (const StepId wait : one.waits_of(s)) waits.emplace_back(wait.value() + job * steps);
      all.add(step, waits);
    }
    all.meeting_sizes.insert(all.meeting_sizes.end(), one.meeting_sizes.begin(), one.meeting_sizes.end());
  }
  return all;
}

class Contender {
 public:
  Contender(Lowered lowered, const graph::CostedGraph& costed, const CostModels& models, const SharedLinks& links,
            std::uint32_t jobs)
      : lowered_(std::move(lowered)),
        graph_(costed.graph),
        costs_(costed.costs),
        models_(models),
        links_(links),
        jobs_(jobs),
        steps_(static_cast<std::uint32_t>(lowered_.program.steps.size())) {}

  Result<Passed<Lowered>> run() && {
    for (const engine::Groups& g : lowered_.program.groups) groups_.push_back(members_of(g, lowered_.program.ranks));
    TRY_ASSIGN(const engine::IrregularProgram one, engine::expand(lowered_.program));
    const engine::IrregularProgram all = copies_of(one, jobs_);
    TRY_ASSIGN(const engine::Contention contention, demands());
    TRY_ASSIGN(const engine::IrregularTimeline timeline, engine::evaluate_contended(all, contention));
    take_durations(timeline);
    drop_last_iteration();
    std::vector<graph::Assumption> slowed = words(timeline, contention);
    return Passed<Lowered>{std::move(lowered_), std::move(slowed)};
  }

 private:
  const graph::Collective* collective_of(StepId s) const {
    const report::StepOrigin& origin = lowered_.origins[s];
    if (origin.role != report::StepRole::device || lowered_.program.steps[s].group == engine::Step::kNoGroup)
      return nullptr;
    return std::get_if<graph::Collective>(&graph_.ops[graph_.tasks[origin.task].first_op]);
  }

  /// Those groups of a collective that take part in it.
  Groups2 taking_part(StepId s) const {
    const TaskId task = lowered_.origins[s].task;
    Groups2 groups = groups_[lowered_.program.steps[s].group];
    std::erase_if(groups, [&](const auto& members) { return graph_.variant_of(task, members.front()) != 0; });
    return groups;
  }

  /// Demands of every rank of every job and step, in the order of expand: rank by rank.
  Result<engine::Contention> demands() const {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::vector<Demand>>> of_task;  // by task and job
    for (std::uint32_t s = 0; s < steps_; ++s) {
      const graph::Collective* op = collective_of(StepId(s));
      if (!op) continue;
      const TaskId task = lowered_.origins[StepId(s)].task;
      const double seconds = costs_[graph_.tasks[task].first_op].mean.seconds() / static_cast<double>(op->times);
      for (std::uint32_t job = 0; job < jobs_; ++job) {
        auto& known = of_task[{task.value(), job}];
        if (!known.empty()) continue;
        const auto slower = [&](const LinksLeft& left) {
          return slowdown(*op, graph_.partitions[graph_.tasks[task].partition], graph_.ranks, models_, jobs_, left);
        };
        TRY_ASSIGN(known, links_.demands(*op, taking_part(StepId(s)), seconds, job, slower));
      }
    }
    engine::Contention contention;
    contention.capacities = links_.capacities();
    for (std::uint32_t job = 0; job < jobs_; ++job) {
      for (std::uint32_t rank = 0; rank < lowered_.program.ranks; ++rank) {
        end_if_stopped();
        for (std::uint32_t s = 0; s < steps_; ++s) {
          const bool shares = collective_of(StepId(s)) != nullptr;
          contention.add(
              shares ? std::span<const Demand>(of_task.at({lowered_.origins[StepId(s)].task.value(), job})[rank])
                     : std::span<const Demand>());
        }
      }
    }
    return contention;
  }

  void take_durations(const engine::IrregularTimeline& t) {
    lost_.assign(steps_, 0);
    worst_.assign(steps_, 0);
    for (std::uint32_t s = 0; s < steps_; ++s) {
      std::vector<std::int64_t> values(lowered_.program.ranks);
      engine::Row& row = lowered_.program.steps[StepId(s)].duration;
      bool same = true;
      for (std::uint32_t r = 0; r < values.size(); ++r) {
        const engine::StepTimes& times = t.steps[StepId(r * steps_ + s)];
        values[r] = times.end - times.start;
        same = same && values[r] == row.at(r);
        if (values[r] - row.at(r) > lost_[s]) lost_[s] = values[r] - row.at(r), worst_[s] = r;
      }
      if (same) continue;
      const bool uniform = std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == values[0]; });
      row = uniform ? engine::Row(values[0]) : engine::Row(std::move(values));
    }
  }

  /// Nothing of a next iteration shares its links.
  void drop_last_iteration() {
    CHECK(lowered_.iterations > 1) << "the last iteration is there to be dropped";
    --lowered_.iterations;
    const std::uint32_t kept = steps_ / (lowered_.iterations + 1u) * lowered_.iterations;
    engine::Program& program = lowered_.program;
    program.steps.truncate(kept);
    program.wait_offsets.resize(kept + 1);
    program.waits.resize(program.wait_offsets.back());
    lowered_.origins.truncate(kept);
  }

  /// The resource that a slowed step's group, with all that runs meanwhile, asks for most beyond what it has.
  std::string busiest(std::uint32_t s, const engine::IrregularTimeline& t, const engine::Contention& c) const {
    const engine::StepTimes& slowed = t.steps[StepId(worst_[s] * steps_ + s)];
    std::vector<double> total(c.capacities.size(), 0);
    std::vector<bool> used(c.capacities.size(), false);
    const auto& groups = groups_[lowered_.program.steps[StepId(s)].group];
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& g) { return std::binary_search(g.begin(), g.end(), worst_[s]); });
    for (const std::uint32_t rank : *group) {
      const std::uint32_t id = rank * steps_ + s;
      for (std::uint32_t i = c.demand_offsets[id]; i < c.demand_offsets[id + 1]; ++i)
        used[c.demands[i].resource] = true;
    }
    for (std::uint32_t id = 0; id < t.steps.size(); ++id) {
      const engine::StepTimes& other = t.steps[StepId(id)];
      if (c.demand_offsets[id] == c.demand_offsets[id + 1] || other.start >= slowed.end || other.end <= slowed.start)
        continue;
      for (std::uint32_t i = c.demand_offsets[id]; i < c.demand_offsets[id + 1]; ++i)
        total[c.demands[i].resource] += c.demands[i].rate;
    }
    std::uint32_t most = 0;
    double load = 0;
    for (std::uint32_t l = 0; l < total.size(); ++l) {
      if (used[l] && total[l] / c.capacities[l] > load) most = l, load = total[l] / c.capacities[l];
    }
    return links_.name_of(most);
  }

  static graph::Assumption assumption(std::string text) {
    return {graph::AssumptionKind::contention, "contention: " + std::move(text)};
  }

  std::vector<graph::Assumption> words(const engine::IrregularTimeline& t, const engine::Contention& contention) const {
    std::vector<std::uint32_t> slowed;
    for (std::uint32_t s = 0; s < lowered_.origins.size(); ++s) {
      if (lost_[s] > 0 && lowered_.origins[StepId(s)].iteration + 1 == lowered_.iterations) slowed.push_back(s);
    }
    std::stable_sort(slowed.begin(), slowed.end(), [&](auto a, auto b) { return lost_[a] > lost_[b]; });
    if (slowed.empty()) return {assumption("no collective is slowed down; no shared link is saturated")};
    std::vector<graph::Assumption> out;
    for (const std::uint32_t s : slowed) {
      if (out.size() == kMostWords) {
        const std::size_t more = slowed.size() - kMostWords;
        out.push_back(assumption(
            fmt::format("{} {} slowed down", counted(more, "more collective"), agreeing(more, "is", "are"))));
        break;
      }
      const graph::Task& task = graph_.tasks[lowered_.origins[StepId(s)].task];
      const std::int64_t now = lowered_.program.steps[StepId(s)].duration.at(worst_[s]);
      out.push_back(assumption(fmt::format("{} takes {:.3g} ms instead of {:.3g} ms; busiest link on its path: {}",
                                           graph_.names[task.name], static_cast<double>(now) * 1e-9,
                                           static_cast<double>(now - lost_[s]) * 1e-9, busiest(s, t, contention))));
    }
    return out;
  }

  Lowered lowered_;
  const graph::TaskGraph& graph_;
  const IdVector<OpId, graph::Cost>& costs_;
  const CostModels& models_;
  const SharedLinks& links_;
  std::uint32_t jobs_, steps_;
  std::vector<Groups2> groups_;
  std::vector<std::int64_t> lost_;    ///< by step: most that a rank lost
  std::vector<std::uint32_t> worst_;  ///< by step: that rank
};

/// Kernels on slow GPUs take longer.
Result<Lowered> with_slow_gpus(Lowered lowered, const config::EngineSpec& engine) {
  if (engine.slow_gpus.empty()) return lowered;
  std::vector<double> speed(lowered.program.ranks, 1);
  for (const config::SlowGpu& slow : engine.slow_gpus) {
    if (slow.rank >= lowered.program.ranks) {
      return Error{fmt::format("engine.slow_gpus: found rank {}, expected one of {}", slow.rank,
                               counted(lowered.program.ranks, "rank")),
                   "", ""};
    }
    speed[static_cast<std::size_t>(slow.rank)] = slow.speed;
  }
  for (StepId s(0); s < lowered.program.steps.end_id(); s = StepId(s.value() + 1)) {
    engine::Step& step = lowered.program.steps[s];
    if (lowered.origins[s].role != report::StepRole::device ||
        step.stream != StreamId(static_cast<std::uint32_t>(graph::Stream::compute)))
      continue;
    std::vector<std::int64_t> values(speed.size());
    for (std::uint32_t r = 0; r < values.size(); ++r) {
      TRY_ASSIGN(const Duration d, Duration::from_seconds(static_cast<double>(step.duration.at(r)) * 1e-12 / speed[r]));
      values[r] = speed[r] == 1 ? step.duration.at(r) : d.ps();
    }
    step.duration = engine::Row(std::move(values));
  }
  return lowered;
}

}  // namespace

std::uint16_t lowered_iterations(std::uint16_t wanted, const config::EngineSpec& engine) {
  return static_cast<std::uint16_t>(wanted + (engine.contended() ? 1 : 0));
}

Result<Passed<Lowered>> contend(Lowered lowered, const graph::CostedGraph& costed, const CostModels& models,
                                const config::EngineSpec& engine) {
  TRY_ASSIGN(Lowered uneven, with_slow_gpus(std::move(lowered), engine));
  if (!engine.contended() && engine.slow_nics.empty()) return Passed<Lowered>{std::move(uneven), {}};
  TRY_ASSIGN(const SharedLinks links, SharedLinks::create(models.topology, engine));
  if (!engine.contended()) return Passed<Lowered>{std::move(uneven), {}};
  TRY(check_program_size(uneven.program, engine));
  return Contender(std::move(uneven), costed, models, links, static_cast<std::uint32_t>(engine.jobs)).run();
}

}  // namespace distsim::pipeline
