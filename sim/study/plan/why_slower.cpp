// Why one row of a plan is slower than the first: the part of the iteration that grew most.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/report/text/format.hpp"
#include "sim/study/plan/plan.hpp"

namespace distsim::study {
namespace {

using TimeParts = std::vector<std::pair<std::string, double>>;

/// Whose communication it is, for people, by how its collectives' names begin.
constexpr std::pair<std::string_view, std::string_view> kCommunication[] = {
    {"tensor.", "tensor communication"}, {"context.", "context communication"},  {"expert.", "expert communication"},
    {"pipeline.", "pipeline messages"},  {"weights.gather", "gathered weights"}, {"grad", "exposed gradients"},
};

double seconds_of_kind(const report::Report& r, std::string_view kind) {
  double sum = 0;
  for (const report::OpKindTime& op : r.ops) sum += op.kind == kind ? op.time.seconds() : 0;
  return sum;
}

/// Seconds of the iteration, per sample, so that batches may differ.
TimeParts time_parts(const report::Report& r) {
  TimeParts out;
  const double samples = std::max(1.0, r.context.samples);
  const double flops = r.context.model_flops + r.context.repeated_flops;
  const double again = flops > 0 ? r.compute.seconds() * r.context.repeated_flops / flops : 0;
  const double products = std::min(r.compute.seconds() - again,
                                   seconds_of_kind(r, "gemm") * (1 - again / std::max(1e-12, r.compute.seconds())));
  const auto add = [&](std::string name, double seconds) { out.emplace_back(std::move(name), seconds / samples); };
  add("recomputation", again);
  add("GEMM efficiency", products);
  add("other kernels", r.compute.seconds() - again - products);
  add("bubble", r.idle.seconds());
  add("host", r.host_bound.seconds());
  add("waiting", r.waiting.seconds());
  double exposed = 0;
  for (const report::CollectiveTime& c : r.collectives) exposed += c.exposed.seconds();
  // Several collectives hide each other: what each exposes is scaled to what all do.
  const double scale = exposed > 0 ? r.exposed_comm.seconds() / exposed : 0;
  std::vector<double> of(std::size(kCommunication) + 1, 0);
  for (const report::CollectiveTime& c : r.collectives) {
    std::size_t i = 0;
    while (i < std::size(kCommunication) && !c.name.starts_with(kCommunication[i].first)) ++i;
    of[i] += c.exposed.seconds() * scale;
  }
  for (std::size_t i = 0; i < std::size(kCommunication); ++i) add(std::string(kCommunication[i].second), of[i]);
  add("communication", of.back());
  return out;
}

double gpus_of_report(const report::Report& r) { return double(r.context.nodes) * r.context.gpus_per_node; }

}  // namespace

std::string why_slower(const report::Report& slower, const report::Report& best) {
  TimeParts a = time_parts(slower);
  const TimeParts b = time_parts(best);
  // Of fewer GPUs each has more to do: what grows in proportion is no other reason.
  const double share = gpus_of_report(slower) / gpus_of_report(best);
  if (share < 1) {
    for (auto& [name, seconds] : a) seconds *= share;
    a.emplace_back("fewer GPUs", (1 - share) * slower.iteration.seconds() / std::max(1.0, slower.context.samples));
  }
  const auto before = [&](std::size_t i) { return i < b.size() ? b[i].second : 0; };
  std::size_t most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].second - before(i) > a[most].second - before(most)) most = i;
  }
  const double samples = std::max(1.0, best.context.samples);
  const double more = (a[most].second - before(most)) * samples;
  constexpr double kSeenShare = 0.0005;
  if (more < kSeenShare * best.iteration.seconds()) return "";
  const report::TimeScale scale = report::time_scale(best.iteration);
  const Result<Duration> d = Duration::from_seconds(more);
  return a[most].first + " +" + (d ? scale.text(*d) : "") + " " + scale.unit;
}

}  // namespace distsim::study
