#include "sim/serving/policies/dispatch/dispatch.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

/// score(GPU) = outstanding work + time to fetch input and weights + predicted time on that kind of GPU; the least wins.
class Scoring : public DispatchPolicy {
 public:
  using DispatchPolicy::DispatchPolicy;

 protected:
  std::uint32_t choose(const View& view, const Request& r) override {
    return least(r.model, [&](std::uint32_t g) {
      return wrapped_sum(work_.value(g), later(view.fetch_ps(r, g), view.predicted_ps(r, g)));
    });
  }
};

}  // namespace

const PolicyEntry scoring_policy{
    "scoring", "each request goes to the GPU that is predicted to finish it first, with its transfers",
    make_policy<Scoring>};

const PolicyEntry branch_scoring_policy{
    .name = "branch_scoring",
    .sentence = "scoring over the branches of requests: each goes to the GPU that is predicted to finish it first",
    .make = make_policy<Scoring>,
    .takes_branches = true,
};

}  // namespace distsim::serving
