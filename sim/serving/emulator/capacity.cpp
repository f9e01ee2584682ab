#include "sim/serving/emulator/capacity.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "sim/serving/emulator/gpus/pipeline_stages.hpp"
#include "sim/serving/emulator/links.hpp"

namespace distsim::serving {
namespace {

constexpr double kSecondsPerPs = 1e-12;
constexpr int kSteps = 200;  ///< of multiplicative weights: errors of a few percent

/// GPUs that cost the same, and may execute the same models.
struct Group {
  std::uint32_t gpu = 0;  ///< one of them
  double gpus = 0;
  double on_link_in = 1, on_link_out = 1;  ///< GPUs that share a link to the host
  std::vector<char> may;                   ///< by model
  std::vector<std::vector<double>> costs;  ///< by resource and model: seconds of a request
  std::vector<double> prices;              ///< by resource; x gpus they add up to 1 over all groups
  double cost(std::size_t model) const {
    double sum = 0;
    for (std::size_t r = 0; r < costs.size(); ++r) sum += prices[r] * costs[r][model];
    return sum;
  }
};

/// `placement`: as of PolicyOptions, which a user's own policy does not know of.
std::vector<Group> groups_of(const Scenario& s, const std::vector<std::vector<std::uint32_t>>& placement) {
  std::vector<std::string> placed(s.gpus.size());
  for (std::size_t m = 0; m < placement.size(); ++m) {
    for (const std::uint32_t g : placement[m]) placed[g] += std::to_string(m) + ",";
  }
  std::vector<double> on_link(s.links.size(), 0);
  for (const Gpu& gpu : s.gpus) {
    ++on_link[gpu.host_in];
    ++on_link[gpu.host_out];
  }
  const auto link_key = [&](std::uint32_t link) {
    return std::to_string(s.links[link].bytes_per_s) + "," + std::to_string(s.links[link].latency_ps) + "," +
           std::to_string(on_link[link]) + ";";
  };
  std::map<std::string, std::size_t> known;
  std::vector<Group> groups;
  for (std::uint32_t g = 0; g < s.gpus.size(); ++g) {
    const Gpu& gpu = s.gpus[g];
    const std::string key = std::to_string(gpu.kind) + ";" + std::to_string(gpu.slots) + ";" +
                            std::to_string(static_cast<int>(gpu.execution)) + ";" + std::to_string(gpu.stages) + ";" +
                            link_key(gpu.host_in) + link_key(gpu.host_out) + placed[g];
    const auto [at, is_new] = known.try_emplace(key, groups.size());
    if (is_new) {
      Group& group = groups.emplace_back();
      group.gpu = g;
      group.on_link_in = on_link[gpu.host_in];
      group.on_link_out = on_link[gpu.host_out];
      for (std::uint32_t m = 0; m < s.models.size(); ++m) {
        const bool anywhere = placement.empty() || placement[m].empty();
        const bool here = anywhere || std::ranges::find(placement[m], g) != placement[m].end();
        group.may.push_back(here && !s.models[m].refused && s.runs_on(gpu.kind, m) ? 1 : 0);
      }
    }
    ++groups[at->second].gpus;
  }
  return groups;
}

/// Time of a model's layers as a batch on one GPU: of a pipeline of each stage.
std::vector<double> executing_s(const Scenario& s, const Gpu& gpu, std::uint32_t model, std::uint32_t batch) {
  const Model& m = s.models[model];
  if (gpu.execution == Execution::pipeline) {
    std::vector<std::int64_t> times;
    for (std::uint32_t l = 0; l < m.layers; ++l) times.push_back(s.time_ps(gpu.kind, model, l, l + 1, 1));
    const std::vector<std::uint32_t> cuts = balanced_stages(times, gpu.stages);
    std::vector<double> stages;
    for (std::uint32_t k = 0; k < gpu.stages; ++k) {
      const std::int64_t ps = cuts[k] < cuts[k + 1] ? s.time_ps(gpu.kind, model, cuts[k], cuts[k + 1], batch) : 0;
      stages.push_back(static_cast<double>(ps) * kSecondsPerPs);
    }
    return stages;
  }
  if (gpu.execution == Execution::serial || m.sm_limit >= 1 || s.branches(gpu.kind, model))
    return {static_cast<double>(s.time_ps(gpu.kind, model, 0, m.layers, batch)) * kSecondsPerPs};
  double sum = 0;
  const Demand* own = s.demands(gpu.kind, model, batch);
  for (std::uint32_t l = 0; l < m.layers; ++l) {
    const double sm = own != nullptr ? own[l].sm : m.demand.sm;
    sum += static_cast<double>(s.serial_ps(gpu.kind, model, l, l + 1, batch)) * std::max(1.0, sm / m.sm_limit);
  }
  return {sum * kSecondsPerPs};
}

double copy_s(const Scenario& s, std::uint32_t from, std::uint32_t to, double bytes) {
  if (bytes <= 0) return 0;
  return static_cast<double>(transfer_ps(s, route_of(s, from, to), static_cast<std::int64_t>(bytes))) * kSecondsPerPs;
}

/// Seconds of each resource of a GPU that a batch takes, over its requests.
std::vector<double> costs_of(const Scenario& s, const Group& group, std::uint32_t model, std::uint32_t batch) {
  const Gpu& gpu = s.gpus[group.gpu];
  const Model& m = s.models[model];
  const double weights = s.residency == Residency::streamed ? static_cast<double>(m.weight_bytes) : 0;
  const double in =
      copy_s(s, kHost, group.gpu, weights) + copy_s(s, kHost, group.gpu, static_cast<double>(m.input_bytes) * batch);
  const double out = copy_s(s, group.gpu, kHost, static_cast<double>(m.output_bytes) * batch);
  std::vector<double> costs = executing_s(s, gpu, model, batch);
  const double begins = costs[0];  // of a pipeline the slot is free again after the first stage
  if (gpu.execution == Execution::shared) {
    const Demand busy = s.busy_ps(gpu.kind, model, 0, m.layers, batch);
    costs = {busy.sm * kSecondsPerPs, busy.memory * kSecondsPerPs, busy.launch * kSecondsPerPs};
  }
  costs.push_back((begins + in) / gpu.slots);
  costs.push_back(in * group.on_link_in);
  costs.push_back(out * group.on_link_out);
  for (double& cost : costs) cost /= batch;
  return costs;
}

/// A resource that costs no model more than another one of the group does binds nothing.
void drop_slack(std::vector<std::vector<double>>& costs) {
  std::vector<std::vector<double>> tight;
  for (std::size_t r = 0; r < costs.size(); ++r) {
    bool slack = false;
    for (std::size_t o = 0; o < costs.size() && !slack; ++o) {
      bool below = o != r, equal = true;
      for (std::size_t m = 0; m < costs[r].size() && below; ++m) {
        below = costs[r][m] <= costs[o][m];
        equal = equal && costs[r][m] == costs[o][m];
      }
      slack = below && (!equal || o < r);
    }
    if (!slack) tight.push_back(costs[r]);
  }
  costs = std::move(tight);
}

void add_costs(const Scenario& s, const PolicyEntry& policy, const PolicyOptions& options, Group& group) {
  for (std::uint32_t m = 0; m < s.models.size(); ++m) {
    if (group.may[m] == 0) continue;
    const std::uint32_t most = policy.largest_batch(options, s.models[m].max_batch);
    for (std::uint32_t batch = 1; batch <= most; ++batch) {
      const std::vector<double> costs = costs_of(s, group, m, batch);
      if (group.costs.empty()) group.costs.assign(costs.size(), std::vector<double>(s.models.size(), 0));
      for (std::size_t r = 0; r < costs.size(); ++r)
        group.costs[r][m] = batch == 1 ? costs[r] : std::min(group.costs[r][m], costs[r]);
    }
  }
  drop_slack(group.costs);
}

/// The cheapest group of each model.
std::vector<std::size_t> cheapest(const std::vector<Group>& groups, std::size_t models) {
  std::vector<std::size_t> out(models, groups.size());
  for (std::size_t m = 0; m < models; ++m) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < groups.size(); ++k) {
      if (groups[k].may[m] == 0) continue;
      const double cost = groups[k].cost(m);
      if (cost >= least) continue;
      least = cost;
      out[m] = k;
    }
  }
  return out;
}

}  // namespace

Capacity capacity_of(const Scenario& s, const PolicyEntry& policy, const PolicyOptions& options,
                     const std::vector<double>& mix) {
  const std::size_t models = s.models.size();
  std::vector<Group> groups =
      groups_of(s, policy.factory != nullptr ? std::vector<std::vector<std::uint32_t>>{} : options.placement);
  std::size_t resources = 0;
  for (Group& group : groups) {
    add_costs(s, policy, options, group);
    resources += group.costs.size();
  }
  for (Group& group : groups)
    group.prices.assign(group.costs.size(), 1 / (static_cast<double>(resources) * group.gpus));
  const double requests = std::accumulate(mix.begin(), mix.end(), 0.0);
  Capacity out;
  out.work_s.assign(models, 0);
  double most = 0;
  for (int step = 0; step < (resources > 1 ? kSteps : 1); ++step) {
    const std::vector<std::size_t> at = cheapest(groups, models);
    double work = 0;
    for (std::size_t m = 0; m < models; ++m) work += at[m] < groups.size() ? mix[m] * groups[at[m]].cost(m) : 0;
    if (work > most) {
      most = work;
      for (std::size_t m = 0; m < models; ++m) out.work_s[m] = at[m] < groups.size() ? groups[at[m]].cost(m) : 0;
    }
    // What is asked of each resource becomes dearer.
    std::vector<std::vector<double>> asked;
    double highest = 0;
    for (std::size_t k = 0; k < groups.size(); ++k) {
      std::vector<double>& here = asked.emplace_back();
      for (const std::vector<double>& costs : groups[k].costs) {
        double sum = 0;
        for (std::size_t m = 0; m < models; ++m) sum += at[m] == k ? mix[m] * costs[m] / groups[k].gpus : 0;
        here.push_back(sum);
        highest = std::max(highest, sum);
      }
    }
    if (highest <= 0) break;
    double sum = 0;
    for (std::size_t k = 0; k < groups.size(); ++k) {
      for (std::size_t r = 0; r < asked[k].size(); ++r) {
        groups[k].prices[r] *= std::exp(asked[k][r] / highest / std::sqrt(1.0 + step));
        sum += groups[k].gpus * groups[k].prices[r];
      }
    }
    for (Group& group : groups) {
      for (double& price : group.prices) price /= sum;
    }
  }
  if (most > 0) out.rate_per_s = requests / most;
  return out;
}

}  // namespace distsim::serving
