#include "sim/serving/policies/central.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

/// A layer at a time, each time with as many waiting requests of the model as fit (Gao et al., Low latency RNN inference
/// with cellular batching, EuroSys 2018). Requests of a model of cells share a batch wherever they are; those of other
/// models must be at the same layer.
class CellularBatching : public Policy {
 public:
  CellularBatching(const Scenario& s, const PolicyOptions& options)
      : eligible_(s, options), most_(options.batch), queues_(s.models.size()) {}

  std::uint32_t arrived(const View& view, RequestSlot slot) override {
    const Request& r = view.request(slot);
    queues_[r.model].push(static_cast<std::int64_t>(r.number), r.number, slot);
    ++waiting_;
    return r.place == kHost ? kAnyGpu : kHereFirst;
  }

  Answer next(const View& view, std::uint32_t gpu, Assignment& out, std::int64_t&) override {
    if (waiting_ == 0) return Answer::nobody;
    const std::uint32_t best = oldest_queue(view, queues_, eligible_, gpu);
    if (best == kNoGpu) return Answer::nothing;
    take(view, queues_[best], view.scenario().models[best], out);
    return Answer::work;
  }

 private:
  void take(const View& view, KeyedQueue& queue, const Model& model, Assignment& out) {
    const std::size_t room = std::min(most_, model.max_batch);
    const std::uint32_t layer = view.request(queue.front()).next_layer;
    kept_.clear();
    while (!queue.empty() && out.requests.size() < room) {
      const RequestSlot slot = queue.pop();
      (model.cells || view.request(slot).next_layer == layer ? out.requests : kept_).push_back(slot);
    }
    for (const RequestSlot slot : kept_) {
      const Request& r = view.request(slot);
      queue.push(static_cast<std::int64_t>(r.number), r.number, slot);
    }
    waiting_ -= out.requests.size();
    out.layers = 1;
  }

  Eligibility eligible_;
  std::uint32_t most_;
  std::vector<KeyedQueue> queues_;
  std::vector<RequestSlot> kept_;
  std::size_t waiting_ = 0;
};

}  // namespace

const PolicyEntry cellular_batching_policy{
    .name = "cellular_batching",
    .sentence = "a layer at a time, each with as many waiting requests of the model as fit",
    .make = make_policy<CellularBatching>,
    .batches = true,
    .splits = true,
};

}  // namespace distsim::serving
