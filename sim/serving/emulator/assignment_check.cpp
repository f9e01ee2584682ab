#include "sim/serving/emulator/assignment_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/counted.hpp"
#include "base/text/quantity_text.hpp"

namespace distsim::serving {
namespace {

std::string seconds_text(std::int64_t ps) {
  return format_quantity(static_cast<double>(ps) * 1e-12, Dimension::seconds);
}

}  // namespace

Result<void> AssignmentCheck::check(const Assignment& a, std::uint32_t gpu, std::int64_t now_ps) const {
  if (a.requests.empty()) return nonsense("handed out no request");
  std::uint32_t model = 0, layer = 0;
  for (std::size_t i = 0; i < a.requests.size(); ++i) {
    const RequestSlot slot = a.requests[i];
    if (slot >= pool_.size())
      return nonsense("handed out a request with id " + std::to_string(slot) + ", which no request has had");
    for (std::size_t j = 0; j < i; ++j) {
      if (a.requests[j] == slot) return nonsense("handed out request " + number_of(slot) + " twice in one batch");
    }
    if (!pool_[slot].waiting)
      return nonsense("handed out request " + number_of(slot) +
                      ", which is being executed or answered already and does not wait");
    const Request& r = pool_[slot];
    if (now_ps - r.waiting_since_ps > options_.max_wait_ps) return above_max_wait(r, now_ps);
    if (i == 0) {
      model = r.model;
      layer = r.next_layer;
    }
    if (r.model != model) return nonsense("put requests of two models into one batch");
    if (r.next_layer != layer && !s_.models[model].cells)
      return nonsense("put requests at different layers into one batch");
  }
  if (!s_.runs_on(s_.gpus[gpu].kind, model))
    return nonsense("gave " + s_.models[model].name + " to " + s_.gpus[gpu].name + ", which has no times for it");
  if (a.requests.size() > s_.models[model].max_batch)
    return nonsense("handed out a batch of " + std::to_string(a.requests.size()) + " of " + s_.models[model].name +
                    ", which takes " + std::to_string(s_.models[model].max_batch));
  return {};
}

std::string AssignmentCheck::number_of(RequestSlot slot) const {
  return std::to_string(pool_[slot].number) + " (id " + std::to_string(slot) + ")";
}

Result<void> AssignmentCheck::check_waits(WaitWatch& watch, const std::vector<std::uint32_t>& used_slots,
                                          std::int64_t now_ps) const {
  const Request* r = watch.too_long(pool_, used_slots, now_ps);
  if (r == nullptr) return {};
  if (options_.max_wait_ps != kNever) return above_max_wait(*r, now_ps);
  return starved(*r, now_ps,
                 ", though every GPU that may execute it had no work for more than " +
                     seconds_text(watch.max_idle_ps()) + " of that (" + std::to_string(WaitWatch::kTimes) +
                     " times what the longest model takes)",
                 "run.max_wait is how long a request may wait, if that is meant");
}

Result<void> AssignmentCheck::check_end(std::int64_t now_ps) const {
  for (RequestSlot slot = 0; slot < pool_.size(); ++slot) {
    if (!pool_[slot].waiting) continue;
    if (options_.max_wait_ps != kNever) return above_max_wait(pool_[slot], now_ps);
    return starved(pool_[slot], now_ps, ", though nothing else is left to do");
  }
  return {};
}

Error AssignmentCheck::nonsense(const std::string& what) const {
  return Error{policy_name() + ": " + what + ", expected an assignment that can be executed", "", ""};
}

Error AssignmentCheck::no_such_gpu(std::uint32_t gpu) const {
  return nonsense("named GPU " + std::to_string(gpu) + " of " + counted(s_.gpus.size(), "GPU"));
}

Error AssignmentCheck::starved(const Request& r, std::int64_t now_ps, const std::string& expected,
                               const std::string& hint) const {
  return Error{policy_name() + ": request " + std::to_string(r.number) + " of " + s_.models[r.model].name +
                   " waits since " + seconds_text(r.waiting_since_ps) + " and is not started at " +
                   seconds_text(now_ps) + expected,
               "", hint};
}

Error AssignmentCheck::above_max_wait(const Request& r, std::int64_t now_ps) const {
  return starved(r, now_ps, ", expected a wait of at most " + seconds_text(options_.max_wait_ps));
}

Error AssignmentCheck::too_long(std::uint64_t in_system) const {
  return Error{policy_name() + ": the run goes on after " + seconds_text(kLongestPs) +
                   (in_system > 0 ? " with " + counted(in_system, "request") + " in the system" : "") +
                   ", expected its end before",
               "",
               options_.arrivals != nullptr ? "the times of the lines are how long it is"
                                            : "load.requests and load.duration are how long it is"};
}

Error AssignmentCheck::in_no_time(std::int64_t now_ps) const {
  return Error{policy_name() + ": clients have their answers at the moment they ask, at " + seconds_text(now_ps) +
                   ", expected that something takes time",
               "", "load.requests is how many they send"};
}

Result<void> AssignmentCheck::check_overload(const Load& load, const Capacity& capacity) const {
  // Twice as much as either bound asks for is beyond what draws of so many requests differ by, with gaps that differ no more
  // than kMostCv. Chosen.
  constexpr double kFactor = 2, kMostCv = 30, kFewest = 100'000;
  const bool is_even = load.kind == LoadKind::poisson || load.kind == LoadKind::constant ||
                       load.kind == LoadKind::server || (load.kind == LoadKind::gamma && load.cv <= kMostCv);
  const bool refuses = std::ranges::any_of(s_.models, [](const Model& m) { return m.refused; });
  if (!is_even || refuses || options_.drop_late || options_.arrivals != nullptr || !load.model_shares.empty())
    return {};
  const double offered = offered_rate(load), most = capacity.rate_per_s;
  const auto bound = static_cast<double>(options_.max_in_system);
  const double left = expected_requests(load) * (1 - most / offered);
  if (bound < kFewest || !(offered > kFactor * most) || !(left > kFactor * bound)) return {};
  return Error{
      policy_name() + fmt::format(": load above capacity, {:.4g} requests/s arrive and at most {:.4g} can be "
                                  "served: after {} more than {} requests are in the system, expected at most {}",
                                  offered, most, format_quantity(bound / (offered - most), Dimension::seconds),
                                  options_.max_in_system, options_.max_in_system),
      "", ""};
}

Error AssignmentCheck::too_many(std::uint64_t in_system, std::int64_t now_ps, const Load& load,
                                const Overload& overload) const {
  const double offered = offered_rate(load), most = overload.capacity().rate_per_s;
  return Error{
      policy_name() + ": " + counted(in_system, "request") + " in the system after " + seconds_text(now_ps) +
          ", expected at most " + std::to_string(options_.max_in_system) +
          (offered > most
               ? fmt::format(": load above capacity, {:.4g} requests/s arrive and at most {:.4g} can be served",
                             offered, most)
               : ""),
      "", offered > most ? "" : "run.max_in_system is how many there may be"};
}

}  // namespace distsim::serving
