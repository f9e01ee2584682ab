// Requests of a batch that would miss their deadlines if it were begun now (run.drop_late): those that are left have
// their answers in time, as far as can be told. Of a batch of B
//   there  weights that are absent, the data of moved requests and B inputs are on the GPU, after what its links have to do
//   done   there, or the end of the work before whose data is there, and the layers that are left as a batch of B
//   end    done, and B outputs are at the host
// Requests with the earliest deadlines are taken out, one by one, until all others have theirs at the end of what is left.
// Room that has to be made for weights, layers of other batches in between, what shares the GPU and a request's own factor
// are not foreseen.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/serving/emulator/branches.hpp"
#include "sim/serving/emulator/gpus/executor.hpp"
#include "sim/serving/emulator/links.hpp"
#include "sim/serving/emulator/weights.hpp"

namespace distsim::serving {

class LateRequests {
 public:
  LateRequests(const Scenario& s, const RequestPool& pool, const Links& links, const Weights& weights,
               const Branches& branches, const Executor& executor)
      : s_(s), pool_(pool), weights_(weights), branches_(branches), executor_(executor), trial_(links) {}

  /// Takes them out of `requests`, a batch that a GPU is about to begin; in the order of their deadlines.
  const std::vector<RequestSlot>& take_from(std::vector<RequestSlot>& requests, std::uint32_t gpu,
                                            std::int64_t now_ps) {
    late_.clear();
    look_at(requests, gpu);
    if (by_deadline_.empty()) return late_;
    const Request& first = pool_[requests.front()];
    const std::uint32_t model = first.model, begin = first.next_layer;
    auto batch = static_cast<std::uint32_t>(requests.size());
    for (const std::uint32_t i : by_deadline_) {
      if (end_of(gpu, model, begin, batch, now_ps) <= pool_[requests[i]].deadline_ps) break;
      late_.push_back(requests[i]);
      is_late_[i] = true;
      if (--batch == 0) break;
      if (pool_[requests[i]].place == kHost)
        inputs_ -= s_.models[model].input_bytes;
      else
        std::erase_if(moves_, [&](const Move& move) { return move.request == i; });
    }
    std::size_t left = 0;
    for (std::size_t i = 0; i < requests.size(); ++i)
      if (!is_late_[i]) requests[left++] = requests[i];
    requests.resize(left);
    return late_;
  }

 private:
  struct Move {
    std::uint32_t request = 0, from = 0;
    std::int64_t bytes = 0;
  };

  /// Of a request that was taken apart only its first task may be dropped, where there is one alone.
  bool may_drop(const Request& r) const {
    return r.whole == kNoWhole || (r.next_layer == 0 && s_.models[r.model].graph.has_one_start());
  }

  /// What is fetched for them, and which have a deadline and may be dropped: of equal deadlines the last first.
  void look_at(const std::vector<RequestSlot>& requests, std::uint32_t gpu) {
    by_deadline_.clear();
    moves_.clear();
    is_late_.assign(requests.size(), false);
    inputs_ = 0;
    for (std::uint32_t i = 0; i < requests.size(); ++i) {
      const Request& r = pool_[requests[i]];
      if (r.deadline_ps != kNever && may_drop(r)) by_deadline_.push_back(i);
      for_each_fetch(s_, branches_, r, gpu, [&](std::uint32_t from, std::int64_t bytes) {
        if (from == kHost)
          inputs_ += bytes;
        else if (bytes > 0)
          moves_.push_back({i, from, bytes});
      });
    }
    std::ranges::sort(by_deadline_, [&](std::uint32_t a, std::uint32_t b) {
      const std::int64_t of_a = pool_[requests[a]].deadline_ps, of_b = pool_[requests[b]].deadline_ps;
      return of_a != of_b ? of_a < of_b : a > b;
    });
  }

  std::int64_t end_of(std::uint32_t gpu, std::uint32_t model, std::uint32_t begin, std::uint32_t batch,
                      std::int64_t now_ps) {
    const Model& m = s_.models[model];
    trial_.start();
    std::int64_t there = now_ps;
    if (weights_.holds(gpu, model))
      there = std::max(there, weights_.there_at_ps(gpu, model));
    else
      there = trial_.transfer(now_ps, kHost, gpu, m.weight_bytes);
    for (const Move& move : moves_) there = std::max(there, trial_.transfer(now_ps, move.from, gpu, move.bytes));
    if (inputs_ > 0) there = std::max(there, trial_.transfer(now_ps, kHost, gpu, inputs_));
    const std::int64_t done = executor_.end_if_ready(gpu, model, begin, batch, there);
    return m.output_bytes > 0 ? trial_.transfer(done, gpu, kHost, m.output_bytes * batch) : done;
  }

  const Scenario& s_;
  const RequestPool& pool_;
  const Weights& weights_;
  const Branches& branches_;
  const Executor& executor_;
  Links::Trial trial_;
  std::int64_t inputs_ = 0;  ///< bytes from the host
  std::vector<Move> moves_;
  std::vector<std::uint32_t> by_deadline_;  ///< places in the batch
  std::vector<bool> is_late_;               ///< by place
  std::vector<RequestSlot> late_;
};

}  // namespace distsim::serving
