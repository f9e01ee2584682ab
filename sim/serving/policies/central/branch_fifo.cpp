#include "sim/serving/policies/central.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

/// Tasks of the oldest request first, of one request those of earlier layers.
class BranchFifo : public Policy {
 public:
  BranchFifo(const Scenario& s, const PolicyOptions& options) : eligible_(s, options), queues_(s.models.size()) {}

  std::uint32_t arrived(const View& view, RequestSlot slot) override {
    const Request& r = view.request(slot);
    queues_[r.model].push(static_cast<std::int64_t>(r.number), r.begin_layer, slot);
    ++waiting_;
    return kAnyGpu;
  }

  Answer next(const View& view, std::uint32_t gpu, Assignment& out, std::int64_t&) override {
    if (waiting_ == 0) return Answer::nobody;
    const std::uint32_t best = oldest_queue(view, queues_, eligible_, gpu);
    if (best == kNoGpu) return Answer::nothing;
    out.requests.push_back(queues_[best].pop());
    --waiting_;
    return Answer::work;
  }

 private:
  Eligibility eligible_;
  std::vector<KeyedQueue> queues_;
  std::size_t waiting_ = 0;
};

}  // namespace

const PolicyEntry branch_fifo_policy{
    .name = "branch_fifo",
    .sentence = "fifo over the branches of requests: a free GPU takes one of the oldest request",
    .make = make_policy<BranchFifo>,
    .takes_branches = true,
};

}  // namespace distsim::serving
