#include <algorithm>

#include "sim/serving/policies/central.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

/// Batches that form between layers (Choi et al., LazyBatching, HPCA 2021). A GPU has a stack of batches of one model.
/// After each layer, requests that came since are put on the stack as a batch of their own, which overtakes those below
/// until both are at the same layer; then they go on as one. They are only let in where nobody's predicted slack
/// (deadline - now - remaining time as one batch - the newcomers' way to catch up) becomes negative by it, and no request of
/// another model that this GPU may execute came before the first of them: that one waits for the stack to be worked off.
class LazyBatching : public Policy {
 public:
  LazyBatching(const Scenario& s, const PolicyOptions& options)
      : eligible_(s, options), most_(options.batch), queues_(s.models.size()), stacks_(s.gpus.size()) {}

  std::uint32_t arrived(const View& view, RequestSlot slot) override {
    queues_[view.request(slot).model].push(slot);
    ++waiting_;
    return kAnyGpu;
  }
  std::uint32_t continued(const View& view, RequestSlot slot) override { return view.request(slot).place; }

  Answer next(const View& view, std::uint32_t gpu, Assignment& out, std::int64_t&) override {
    Stack& stack = stacks_[gpu];
    if (stack.running) return Answer::nothing;
    if (stack.batches.empty()) {
      if (waiting_ == 0) return Answer::nothing;
      const std::uint32_t model = oldest_queue(view, queues_, eligible_, gpu);
      if (model == kNoGpu) return Answer::nothing;
      stack.model = model;
    }
    if (may_join(view, gpu)) join(view, stack);
    merge(view, stack);
    out.requests = stack.batches.back();
    out.layers = 1;
    stack.running = true;
    return Answer::work;
  }

  void executed(const View& view, std::uint32_t gpu, const std::vector<RequestSlot>& requests) override {
    stacks_[gpu].running = false;
    if (view.request(requests.front()).next_layer == view.scenario().models[stacks_[gpu].model].layers)
      stacks_[gpu].batches.pop_back();
  }
  void dropped(const View&, std::uint32_t gpu, RequestSlot slot) override {
    Stack& stack = stacks_[gpu];
    std::erase(stack.batches.back(), slot);
    if (!stack.batches.back().empty()) return;
    stack.batches.pop_back();
    stack.running = false;
  }

 private:
  struct Stack {
    std::uint32_t model = 0;
    bool running = false;
    std::vector<std::vector<RequestSlot>> batches;  ///< the last is the one that runs
    std::size_t size() const {
      std::size_t n = 0;
      for (const auto& batch : batches) n += batch.size();
      return n;
    }
  };

  std::size_t limit(const View& view, const Stack& stack) const {
    return std::min<std::size_t>(most_, view.scenario().models[stack.model].max_batch);
  }

  bool may_join(const View& view, std::uint32_t gpu) const {
    const Stack& stack = stacks_[gpu];
    if (queues_[stack.model].empty() || stack.size() >= limit(view, stack)) return false;
    if (stack.batches.empty()) return true;
    if (oldest_queue(view, queues_, eligible_, gpu) != stack.model) return false;
    const Scenario& s = view.scenario();
    const std::uint32_t kind = s.gpus[gpu].kind, layers = s.models[stack.model].layers;
    const std::size_t joining = std::min(queues_[stack.model].size(), limit(view, stack) - stack.size());
    const auto all = static_cast<std::uint32_t>(stack.size() + joining);
    const std::uint32_t at = view.request(stack.batches.back().front()).next_layer;
    const std::int64_t end = view.now_ps() + s.time_ps(kind, stack.model, 0, at, static_cast<std::uint32_t>(joining)) +
                             s.time_ps(kind, stack.model, at, layers, all);
    for (const auto& batch : stack.batches) {
      for (const RequestSlot slot : batch) {
        if (view.request(slot).deadline_ps < end) return false;
      }
    }
    return true;
  }

  void join(const View& view, Stack& stack) {
    std::vector<RequestSlot> batch;
    const std::size_t room = limit(view, stack) - stack.size();
    while (batch.size() < room && !queues_[stack.model].empty()) {
      batch.push_back(queues_[stack.model].pop());
      --waiting_;
    }
    stack.batches.push_back(std::move(batch));
  }

  static void merge(const View& view, Stack& stack) {
    while (stack.batches.size() > 1) {
      auto& top = stack.batches.back();
      auto& below = stack.batches[stack.batches.size() - 2];
      if (view.request(top.front()).next_layer != view.request(below.front()).next_layer) return;
      below.insert(below.end(), top.begin(), top.end());
      stack.batches.pop_back();
    }
  }

  Eligibility eligible_;
  std::uint32_t most_;
  std::vector<Fifo> queues_;
  std::vector<Stack> stacks_;
  std::size_t waiting_ = 0;
};

}  // namespace

const PolicyEntry lazy_batching_policy{
    .name = "lazy_batching",
    .sentence = "newcomers catch up between layers and join the batch, where no deadline is predicted to be missed",
    .make = make_policy<LazyBatching>,
    .batches = true,
};

}  // namespace distsim::serving
