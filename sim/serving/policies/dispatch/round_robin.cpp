#include "sim/serving/policies/dispatch/dispatch.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

class RoundRobin : public DispatchPolicy {
 public:
  using DispatchPolicy::DispatchPolicy;

 protected:
  std::uint32_t choose(const View&, const Request& r) override {
    do {
      turn_ = turn_ + 1 == queues_.size() ? 0 : turn_ + 1;
    } while (!eligible_(r.model, turn_));
    return turn_;
  }

 private:
  std::uint32_t turn_ = static_cast<std::uint32_t>(queues_.size()) - 1;
};

}  // namespace

const PolicyEntry round_robin_policy{"round_robin", "each request goes to the next GPU in turn",
                                     make_policy<RoundRobin>};

}  // namespace distsim::serving
