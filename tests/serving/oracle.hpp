// A slow emulator that is easy to check: no heap, no sets, no pools. At each moment it looks at everything.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "scenarios.hpp"

namespace distsim::serving::test {

struct OracleRequest {
  std::int64_t arrival = 0, answer = -1, waiting_since = 0;
  std::uint32_t model = 0, layer = 0, place = kHost;
  bool here = false, waiting = false;
  std::uint32_t queue = kHost;  ///< GPU that a dispatching policy gave it to
};

struct OracleWork {
  std::uint32_t gpu = 0, model = 0, begin_layer = 0, layers = 0;
  std::uint32_t at_layer = 0, end_layer = 0;  ///< shared, where layers have demands of their own
  std::vector<std::size_t> requests;
  std::int64_t ready = 0, alone = 0, end = -1;
  __extension__ __int128 left = 0;  ///< shared: 2^-32 ps
  std::int64_t speed = 0;
  bool is_ready = false, started = false, over = false;
};

struct OracleResult {
  std::vector<std::int64_t> answers;  ///< by request
  std::uint64_t moves = 0, batches = 0, loads = 0, evictions = 0;
};

class Oracle {
 public:
  Oracle(const Scenario& s, std::string policy, const PolicyOptions& options, const std::vector<TraceRow>& trace)
      : s_(s), policy_(std::move(policy)), options_(options) {
    for (const TraceRow& row : trace) {
      requests_.emplace_back();
      requests_.back().arrival = row.time_ps;
      requests_.back().model = row.model;
    }
    link_free_.assign(s.links.size(), 0);
    used_.assign(s.gpus.size(), std::vector<std::uint64_t>(s.models.size(), 0));
    outstanding_.assign(s.gpus.size(), 0);
  }

  OracleResult run() {
    while (step()) {
    }
    for (const OracleRequest& r : requests_) result_.answers.push_back(r.answer);
    return result_;
  }

 private:
  // ---- time

  bool step() {
    std::int64_t next = kNever;
    for (const OracleRequest& r : requests_) {
      if (!r.here) next = std::min(next, r.arrival);
    }
    for (const OracleWork& w : works_) {
      if (w.over) continue;
      if (!w.is_ready) next = std::min(next, w.ready);
      if (w.started && w.end >= 0) next = std::min(next, w.end);
    }
    for (std::uint32_t g = 0; g < s_.gpus.size(); ++g) next = std::min(next, shared_end(g));
    const std::int64_t timer = timer_at();
    if (timer > now_) next = std::min(next, timer);
    if (next == kNever) return false;
    advance(next);
    bool everyone = timer == next;
    std::vector<char> freed(s_.gpus.size(), 0);
    for (std::size_t i = 0; i < works_.size(); ++i) {
      if (!works_[i].over && !works_[i].is_ready && works_[i].ready == now_) make_ready(i);
    }
    for (std::size_t i = 0; i < works_.size(); ++i) {
      OracleWork& w = works_[i];
      if (w.over || !w.started || w.end != now_) continue;
      finish(i);
      freed[w.gpu] = 1;
      start_serial(w.gpu);
    }
    for (std::uint32_t g = 0; g < s_.gpus.size(); ++g) {
      next_layers(g);
      for (std::size_t i = 0; i < works_.size(); ++i) {
        if (works_[i].over || !works_[i].is_ready || works_[i].gpu != g || !shared(g) || works_[i].left > 0) continue;
        finish(i);
        freed[g] = 1;
      }
      set_speeds(g);
    }
    bool last = true;
    for (OracleRequest& r : requests_) {
      if (!r.here && r.arrival == now_) {
        r.here = true;
        came(r);
        everyone = true;
      }
      last = last && r.here;
    }
    if (last && !draining_) {
      draining_ = true;
      everyone = true;
    }
    for (std::uint32_t g = 0; g < s_.gpus.size(); ++g) {
      if (everyone || freed[g]) ask(g);
    }
    return true;
  }

  void advance(std::int64_t to) {
    for (OracleWork& w : works_) {
      if (!w.over && w.is_ready && shared(w.gpu)) w.left -= static_cast<decltype(w.left)>(to - now_) * w.speed;
    }
    now_ = to;
  }

  // ---- GPUs

  bool shared(std::uint32_t g) const { return s_.gpus[g].execution == Execution::shared; }
  std::int64_t shared_end(std::uint32_t g) const {
    std::int64_t first = kNever;
    for (const OracleWork& w : works_) {
      if (w.over || !w.is_ready || w.gpu != g || !shared(g)) continue;
      std::int64_t wait = static_cast<std::int64_t>(w.left / w.speed);
      while (w.left - static_cast<decltype(w.left)>(wait) * w.speed > 0) ++wait;
      first = std::min(first, now_ + wait);
    }
    return first;
  }
  /// What the layer that a piece of work executes keeps busy.
  Demand demand_of(const OracleWork& w) const {
    const Demand* own = s_.demands(s_.gpus[w.gpu].kind, w.model, static_cast<std::uint32_t>(w.requests.size()));
    return own != nullptr ? own[w.at_layer] : s_.models[w.model].demand;
  }
  /// A layer is followed by the next one, whose time begins at the fraction of a picosecond at which it ended.
  void next_layers(std::uint32_t g) {
    for (OracleWork& w : works_) {
      const auto kind = s_.gpus[g].kind;
      const auto batch = static_cast<std::uint32_t>(w.requests.size());
      if (w.over || !w.is_ready || w.gpu != g || !shared(g)) continue;
      while (w.left <= 0 && w.at_layer + 1 < w.end_layer) {
        ++w.at_layer;
        w.left += static_cast<decltype(w.left)>(s_.time_ps(kind, w.model, w.at_layer, w.at_layer + 1, batch)) << 32;
      }
    }
  }
  void set_speeds(std::uint32_t g) {
    double sm = 0, memory = 0, launch = 0;
    for (const OracleWork& w : works_) {
      if (w.over || !w.is_ready || w.gpu != g) continue;
      sm += demand_of(w).sm;
      memory += demand_of(w).memory;
      launch += demand_of(w).launch;
    }
    for (OracleWork& w : works_) {
      if (w.over || !w.is_ready || w.gpu != g) continue;
      double slower = 1;
      if (demand_of(w).sm > 0) slower = std::max(slower, sm);
      if (demand_of(w).memory > 0) slower = std::max(slower, memory);
      if (demand_of(w).launch > 0) slower = std::max(slower, launch);
      w.speed = static_cast<std::int64_t>(4294967296.0 / slower);
    }
  }
  void make_ready(std::size_t i) {
    OracleWork& w = works_[i];
    w.is_ready = true;
    if (shared(w.gpu)) {
      const auto batch = static_cast<std::uint32_t>(w.requests.size());
      const bool own = s_.demands(s_.gpus[w.gpu].kind, w.model, batch) != nullptr;
      w.at_layer = w.begin_layer;
      w.end_layer = own ? w.begin_layer + w.layers : w.begin_layer;
      const std::int64_t first =
          own ? s_.time_ps(s_.gpus[w.gpu].kind, w.model, w.begin_layer, w.begin_layer + 1, batch) : w.alone;
      w.left = static_cast<decltype(w.left)>(first) << 32;
      set_speeds(w.gpu);
    } else {
      ready_order_.push_back(i);
      start_serial(w.gpu);
    }
  }
  void start_serial(std::uint32_t g) {
    for (const OracleWork& w : works_) {
      if (!w.over && w.started && w.gpu == g) return;
    }
    for (const std::size_t i : ready_order_) {
      OracleWork& w = works_[i];
      if (w.gpu != g || w.over || w.started) continue;
      w.started = true;
      w.end = now_ + w.alone;
      return;
    }
  }
  std::int64_t copy(std::uint32_t from, std::uint32_t to, std::int64_t bytes) {
    std::vector<std::uint32_t> links;
    const auto& gpus = s_.gpus;
    if (from == kHost)
      links = {gpus[to].host_in};
    else if (to == kHost)
      links = {gpus[from].host_out};
    else if (gpus[from].box != gpus[to].box)
      links = {gpus[from].host_out, gpus[from].box_out, gpus[to].box_in, gpus[to].host_in};
    else if (gpus[from].peers && gpus[to].peers)
      links = {gpus[from].peer_out, gpus[to].peer_in};
    else
      links = {gpus[from].host_out, gpus[to].host_in};
    double slowest = 1e300;
    std::int64_t start = now_, latency = 0;
    for (const std::uint32_t l : links) {
      slowest = std::min(slowest, s_.links[l].bytes_per_s);
      latency += s_.links[l].latency_ps;
      start = std::max(start, link_free_[l]);
    }
    const std::int64_t end = start + latency + std::llround(static_cast<double>(bytes) / slowest * 1e12);
    for (const std::uint32_t l : links) link_free_[l] = end;
    return end;
  }
  bool must_load(std::uint32_t g, std::uint32_t m) {
    if (s_.residency == Residency::resident) return false;
    if (s_.residency == Residency::streamed) return true;
    const bool there = used_[g][m] > 0;
    used_[g][m] = ++clock_;
    for (;;) {
      std::int64_t sum = 0;
      std::size_t oldest = s_.models.size();
      for (std::size_t k = 0; k < s_.models.size(); ++k) {
        if (used_[g][k] == 0) continue;
        sum += s_.models[k].weight_bytes;
        if (oldest == s_.models.size() || used_[g][k] < used_[g][oldest]) oldest = k;
      }
      if (sum <= s_.gpus[g].memory_bytes) return !there;
      used_[g][oldest] = 0;
      ++result_.evictions;
    }
  }

  void finish(std::size_t i) {
    OracleWork& w = works_[i];
    w.over = true;
    const Model& m = s_.models[w.model];
    std::int64_t bytes = 0;
    for (const std::size_t r : w.requests) {
      requests_[r].layer += w.layers;
      requests_[r].place = w.gpu;
      if (requests_[r].layer == m.layers) bytes += m.output_bytes;
      outstanding_[w.gpu] -= load_of(requests_[r], w.gpu);
    }
    const std::int64_t back = bytes > 0 ? copy(w.gpu, kHost, bytes) : now_;
    for (const std::size_t r : w.requests) {
      if (requests_[r].layer == m.layers)
        requests_[r].answer = back;
      else
        requests_[r].waiting = true;
    }
  }

  // ---- policies

  bool is_dispatching() const {
    return policy_ == "round_robin" || policy_ == "least_loaded" || policy_ == "shortest_queue";
  }
  std::int64_t load_of(const OracleRequest& r, std::uint32_t g) const {
    if (policy_ == "shortest_queue") return 1;
    return s_.time_ps(s_.gpus[g].kind, r.model, 0, s_.models[r.model].layers, 1);
  }
  void came(OracleRequest& r) {
    r.waiting = true;
    r.waiting_since = now_;
    if (!is_dispatching()) return;
    const auto count = static_cast<std::uint32_t>(s_.gpus.size());
    r.queue = turn_++ % count;
    if (policy_ != "round_robin") {
      r.queue = 0;
      for (std::uint32_t g = 1; g < count; ++g) r.queue = outstanding_[g] < outstanding_[r.queue] ? g : r.queue;
    }
    outstanding_[r.queue] += load_of(r, r.queue);
  }
  std::int64_t timer_at() const {
    std::int64_t at = kNever;
    if (policy_ != "dynamic_batching") return at;
    for (const OracleRequest& r : requests_) {
      if (r.waiting && r.arrival + options_.delay_ps > now_) at = std::min(at, r.arrival + options_.delay_ps);
    }
    return at;
  }
  std::size_t first_waiting(const std::function<bool(const OracleRequest&, const OracleRequest&)>& before,
                            std::uint32_t g) const {
    std::size_t best = requests_.size();
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (!requests_[i].waiting || (is_dispatching() && requests_[i].queue != g)) continue;
      if (best == requests_.size() || before(requests_[i], requests_[best])) best = i;
    }
    return best;
  }
  /// Whether a comes before b, where b stands before a in the order of arrival.
  bool before(const OracleRequest& a, const OracleRequest& b, std::uint32_t g) const {
    const Model &ma = s_.models[a.model], &mb = s_.models[b.model];
    const auto deadline = [](const OracleRequest& r, const Model& m) {
      return m.deadline_ps == kNever ? kNever : r.arrival + m.deadline_ps;
    };
    if (policy_ == "sjf") return ma.size_ps < mb.size_ps;
    if (policy_ == "edf") return deadline(a, ma) < deadline(b, mb);
    if (policy_ == "priority") return ma.priority > mb.priority;
    if (policy_ == "naive") return s_.gpus[g].kind == 0 ? ma.size_ps < mb.size_ps : ma.size_ps > mb.size_ps;
    if (policy_ == "non_naive") return s_.gpus[g].kind == 0 ? ma.size_ps > mb.size_ps : ma.size_ps < mb.size_ps;
    if (policy_ == "layer_preemptive")
      return ma.priority != mb.priority ? ma.priority > mb.priority : deadline(a, ma) < deadline(b, mb);
    return false;
  }
  std::vector<std::size_t> batch(std::uint32_t model) const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i].waiting && requests_[i].model == model &&
          out.size() < std::min(options_.batch, s_.models[model].max_batch))
        out.push_back(i);
    }
    return out;
  }
  std::vector<std::size_t> pick_batch() const {
    std::vector<std::size_t> best;
    for (std::uint32_t m = 0; m < s_.models.size(); ++m) {
      const std::vector<std::size_t> b = batch(m);
      if (b.empty()) continue;
      const bool full = b.size() == std::min(options_.batch, s_.models[m].max_batch);
      const bool due = policy_ == "dynamic_batching" && requests_[b[0]].arrival + options_.delay_ps <= now_;
      if ((full || due || draining_) && (best.empty() || b[0] < best[0])) best = b;
    }
    return best;
  }
  void ask(std::uint32_t g) {
    for (;;) {
      std::uint32_t held = 0;
      for (const OracleWork& w : works_) held += !w.over && w.gpu == g ? 1 : 0;
      if (held >= s_.gpus[g].slots) return;
      std::vector<std::size_t> chosen;
      if (policy_ == "static_batching" || policy_ == "dynamic_batching") {
        chosen = pick_batch();
      } else {
        const std::size_t i = first_waiting([&](const auto& a, const auto& b) { return before(a, b, g); }, g);
        if (i < requests_.size()) chosen = {i};
      }
      if (chosen.empty()) return;
      assign(g, chosen);
    }
  }
  void assign(std::uint32_t g, const std::vector<std::size_t>& chosen) {
    const OracleRequest& first = requests_[chosen[0]];
    const Model& m = s_.models[first.model];
    OracleWork w;
    w.gpu = g;
    w.model = first.model;
    w.requests = chosen;
    w.begin_layer = first.layer;
    w.layers = policy_ == "layer_preemptive" ? 1 : m.layers;
    for (std::uint32_t l = first.layer; l < first.layer + w.layers; ++l)
      w.alone += s_.time_ps(s_.gpus[g].kind, first.model, l, l + 1, static_cast<std::uint32_t>(chosen.size()));
    w.ready = now_;
    if (must_load(g, w.model)) {
      ++result_.loads;
      if (m.weight_bytes > 0) w.ready = std::max(w.ready, copy(kHost, g, m.weight_bytes));
    }
    std::int64_t inputs = 0;
    for (const std::size_t i : chosen) {
      OracleRequest& r = requests_[i];
      r.waiting = false;
      if (r.place == kHost) inputs += m.input_bytes;
      if (r.place == kHost || r.place == g) continue;
      ++result_.moves;
      const std::int64_t state = m.state_after.empty() ? m.state_bytes : m.state_after[r.layer - 1];
      if (state > 0) w.ready = std::max(w.ready, copy(r.place, g, state));
    }
    if (inputs > 0) w.ready = std::max(w.ready, copy(kHost, g, inputs));
    ++result_.batches;
    works_.push_back(w);
    if (w.ready == now_) make_ready(works_.size() - 1);
  }

  const Scenario& s_;
  std::string policy_;
  const PolicyOptions& options_;
  std::vector<OracleRequest> requests_;
  std::vector<OracleWork> works_;
  std::vector<std::size_t> ready_order_;
  std::vector<std::int64_t> link_free_, outstanding_;
  std::vector<std::vector<std::uint64_t>> used_;
  std::uint64_t clock_ = 0;
  std::uint32_t turn_ = 0;
  std::int64_t now_ = -1;
  bool draining_ = false;
  OracleResult result_;
};

}  // namespace distsim::serving::test
