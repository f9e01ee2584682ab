// Whether what a policy says can be done, and the lines that name it where it cannot.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "sim/serving/emulator/emulator.hpp"
#include "sim/serving/emulator/overload.hpp"
#include "sim/serving/emulator/wait_watch.hpp"

namespace distsim::serving {

class AssignmentCheck {
 public:
  AssignmentCheck(const Scenario& s, const PolicyEntry& entry, const RunOptions& options, const RequestPool& pool)
      : s_(s), entry_(entry), options_(options), pool_(pool) {}

  /// An assignment for a GPU.
  Result<void> check(const Assignment& a, std::uint32_t gpu, std::int64_t now_ps) const;
  /// Whether check() has nothing to say about an assignment of one request, the usual one.
  bool is_plainly_good(const Assignment& a, std::uint32_t gpu, std::int64_t now_ps) const {
    if (a.requests.size() != 1 || a.requests[0] >= pool_.size()) return false;
    const Request& r = pool_[a.requests[0]];
    return r.waiting && now_ps - r.waiting_since_ps <= options_.max_wait_ps && s_.runs_on(s_.gpus[gpu].kind, r.model);
  }
  /// Whether any request waits longer than it may.
  Result<void> check_waits(WaitWatch& watch, const std::vector<std::uint32_t>& used_slots, std::int64_t now_ps) const;
  /// Nothing is left to do: requests that still wait.
  Result<void> check_end(std::int64_t now_ps) const;

  Error nonsense(const std::string& what) const;
  Error no_such_gpu(std::uint32_t gpu) const;
  /// More time has passed than times can hold.
  Error too_long(std::uint64_t in_system) const;
  /// Closed loads where answers take no time.
  Error in_no_time(std::int64_t now_ps) const;
  /// More requests in the system than are meant to be: because more comes than any policy could serve, or not.
  /// Refuses before the run what surely ends in too_many(), which takes long and much memory to find.
  Result<void> check_overload(const Load& load, const Capacity& capacity) const;
  Error too_many(std::uint64_t in_system, std::int64_t now_ps, const Load& load, const Overload& overload) const;

 private:
  std::string number_of(RequestSlot slot) const;
  Error starved(const Request& r, std::int64_t now_ps, const std::string& expected, const std::string& hint = "") const;
  Error above_max_wait(const Request& r, std::int64_t now_ps) const;
  std::string policy_name() const { return "policy " + std::string(entry_.name); }

  const Scenario& s_;
  const PolicyEntry& entry_;
  const RunOptions& options_;
  const RequestPool& pool_;
};

}  // namespace distsim::serving
