// Who sends requests while an emulation goes on: an open load, or clients that wait for their answers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/serving/emulator/event_heap.hpp"
#include "sim/serving/emulator/scenario.hpp"
#include "sim/serving/load/arrivals.hpp"
#include "sim/serving/load/draws.hpp"
#include "sim/serving/results/quantiles.hpp"

namespace distsim::serving {

/// Open loads: the next request, known before it comes. With arrivals of the caller's, it is asked for when the one before
/// it has been decided.
class OpenSender {
 public:
  OpenSender(const Load& load, Arrivals* given) : arrivals_(given), one_by_one_(given != nullptr) {
    if (load.is_closed()) return;
    if (given == nullptr) own_ = open_arrivals(load);
    arrivals_ = given != nullptr ? given : own_.get();
    fetch();
  }
  std::int64_t next_ps() const { return has_ ? next_.time_ps : kNever; }
  bool is_due(std::int64_t now_ps) const { return has_ && !decide_first_ && next_.time_ps == now_ps; }
  bool is_over() const { return !has_; }
  TraceRow take() {
    const TraceRow row = next_;
    if (one_by_one_)
      decide_first_ = true;
    else
      fetch();
    return row;
  }
  /// What has come is decided.
  void decided() {
    if (decide_first_) fetch();
  }

 private:
  void fetch() {
    decide_first_ = false;
    has_ = arrivals_->next(next_);
  }

  std::unique_ptr<Arrivals> own_;
  Arrivals* arrivals_;
  TraceRow next_;
  bool one_by_one_, has_ = false, decide_first_ = false;
};

/// Closed loads. Their queries are events of the heap.
class Clients {
 public:
  Clients(const Load& load, EventHeap& heap) : load_(load), heap_(heap), draws_(seed_for(load.seed, 3)) {
    if (!load.is_closed()) return;
    clients_.resize(load.clients);
    for (std::uint32_t c = 0; c < load.clients; ++c) heap_.push(Event::of(think_ps(), EventKind::client, c));
  }
  bool end(std::int64_t now_ps, std::uint64_t sent) const {
    return (load_.requests > 0 && sent >= load_.requests) || (load_.duration_ps > 0 && now_ps > load_.duration_ps);
  }
  /// A client sends its query of Load::samples requests.
  void sends(std::uint32_t client, std::int64_t now_ps, bool counted) {
    clients_[client] = {load_.samples, now_ps, now_ps, counted};
  }
  void answered(std::uint32_t id, std::int64_t at_ps, Quantiles& queries) {
    Client& client = clients_[id];
    client.answered_ps = std::max(client.answered_ps, at_ps);
    if (--client.open > 0) return;
    if (client.counted) queries.add(client.answered_ps - client.sent_ps);
    heap_.push(Event::of(client.answered_ps + think_ps(), EventKind::client, id));
  }

 private:
  struct Client {
    std::uint32_t open = 0;  ///< samples without an answer
    std::int64_t sent_ps = 0, answered_ps = 0;
    bool counted = true;
  };
  std::int64_t think_ps() {
    return load_.think_s > 0 ? std::llround(std::min(exponential(draws_, load_.think_s), 1e6) * 1e12) : 0;
  }

  const Load& load_;
  EventHeap& heap_;
  Random draws_;
  std::vector<Client> clients_;
};

/// Draws of what requests are: models, classes and factors from streams of their own.
class RequestDraws {
 public:
  RequestDraws(const Scenario& s, std::uint64_t seed)
      : mix_(weights_of(s.models)),
        class_mix_(weights_of(s.classes)),
        model_draws_(seed_for(seed, 1)),
        class_draws_(seed_for(seed, 2)) {
    for (std::uint32_t m = 0; m < s.models.size(); ++m) factor_draws_.emplace_back(seed_for(seed, 1000 + m));
  }
  std::uint32_t model() { return mix_.draw(model_draws_); }
  std::uint32_t service_class() { return class_mix_.draw(class_draws_); }
  double factor(const Model& m, std::uint32_t model) {
    switch (m.variation) {
      case Variation::none:
        return 1;
      case Variation::exponential:
        return exponential(factor_draws_[model], 1);
      case Variation::lognormal:
        return lognormal_of_mean_one(factor_draws_[model], m.cv);
    }
    return 1;
  }

 private:
  template <class Weighted>
  static std::vector<double> weights_of(const std::vector<Weighted>& items) {
    std::vector<double> weights;
    for (const Weighted& item : items) weights.push_back(item.weight);
    if (weights.empty()) weights.push_back(1);
    return weights;
  }
  WeightedChoice mix_, class_mix_;
  Random model_draws_, class_draws_;
  std::vector<Random> factor_draws_;
};

}  // namespace distsim::serving
