// A slow emulator that is easy to check: no heap, no sets, no pools, no plans. At each moment it looks at everything. What it
// takes from the emulator's own code are times of single layers; graphs, streams and stages are worked out anew from the
// definitions, by reachability and by trying all.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "oracle_machines.hpp"
#include "scenarios.hpp"

namespace distsim::serving::test {

struct OracleRequest {
  std::int64_t arrival = 0, answer = -1;
  std::uint32_t model = 0;
  bool here = false;
  std::vector<char> strand_done;
  std::vector<std::uint32_t> strand_place;
};

/// A request, or a strand of it for policies that take branches.
struct OracleTask {
  std::size_t request = 0;
  std::uint32_t model = 0, begin = 0, layer = 0, end = 0, strand = 0, place = kHost;
  bool waiting = true, apart = false;
  std::uint32_t queue = kHost;  ///< GPU that a dispatching policy gave it to
};

class Oracle : OracleMachines {
 public:
  Oracle(const Scenario& s, const OracleSetup& setup, std::string policy, const PolicyOptions& options,
         const std::vector<TraceRow>& trace)
      : OracleMachines(s, setup), policy_(std::move(policy)), options_(options) {
    for (const TraceRow& row : trace) {
      requests_.emplace_back();
      requests_.back().arrival = row.time_ps;
      requests_.back().model = row.model;
    }
    outstanding_.assign(s.gpus.size(), 0);
    held_since_.assign(s.gpus.size(), 0);
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
      if (!w.over && !w.is_ready) next = std::min(next, w.ready);
      if (w.started && !w.over) next = std::min(next, w.end);
      if (w.started && !w.slot_free && piped(w.gpu)) next = std::min(next, w.first_free);
    }
    for (std::uint32_t g = 0; g < s_.gpus.size(); ++g) next = std::min(next, shared_end(g));
    const std::int64_t timer = timer_at();
    if (timer > now_) next = std::min(next, timer);
    if (next == kNever) return false;
    advance(next);
    bool everyone = timer == next;
    freed_.assign(s_.gpus.size(), 0);
    for (std::size_t i = 0; i < works_.size(); ++i) {
      if (!works_[i].over && !works_[i].is_ready && works_[i].ready == now_) make_ready(i);
    }
    free_first_stages();
    for (std::size_t i = 0; i < works_.size(); ++i) {
      if (works_[i].over || !works_[i].started || works_[i].end != now_) continue;
      const std::uint32_t g = works_[i].gpu;
      finish(i);
      if (piped(g)) continue;
      freed_[g] = 1;
      start_serial(g);
    }
    for (std::uint32_t g = 0; g < s_.gpus.size(); ++g) {
      if (!shared(g)) continue;
      for (OracleWork& w : works_) {
        if (!w.over && w.is_ready && w.gpu == g) end_parts(w.parts, now_);
      }
      for (std::size_t i = 0; i < works_.size(); ++i) {
        if (works_[i].over || !works_[i].is_ready || works_[i].gpu != g || !all_over(works_[i].parts)) continue;
        finish(i);
        freed_[g] = 1;
      }
      set_speeds(g);
    }
    bool last = true;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (!requests_[i].here && requests_[i].arrival == now_) {
        requests_[i].here = true;
        came(i);
        everyone = true;
      }
      last = last && requests_[i].here;
    }
    everyone = everyone || new_task_;
    new_task_ = false;
    ask_all_of([&](std::uint32_t g) { return everyone || freed_[g] != 0; });
    const bool left = std::ranges::any_of(went_on_, [&](std::size_t t) { return tasks_[t].waiting; });
    if (left) ask_all_of([](std::uint32_t) { return true; });
    went_on_.clear();
    if (last && !draining_) {  // known after the last one is decided
      draining_ = true;
      ask_all_of([](std::uint32_t) { return true; });
    }
    return true;
  }

  void advance(std::int64_t to) {
    for (OracleWork& w : works_) {
      if (w.over || !w.is_ready || !shared(w.gpu)) continue;
      for (OraclePart& p : w.parts) {
        if (p.started && !p.over) p.left -= static_cast<Wide>(to - now_) * p.speed;
      }
    }
    now_ = to;
  }

  // ---- GPUs

  std::int64_t shared_end(std::uint32_t g) const {
    std::int64_t first = kNever;
    for (const OracleWork& w : works_) {
      if (w.over || !w.is_ready || w.gpu != g || !shared(g)) continue;
      first = std::min(first, first_end(w.parts, now_));
    }
    return first;
  }
  void set_speeds(std::uint32_t g) {
    std::vector<OraclePart*> running;
    for (OracleWork& w : works_) {
      if (w.over || !w.is_ready || w.gpu != g) continue;
      for (OraclePart& p : w.parts) {
        if (p.started && !p.over) running.push_back(&p);
      }
    }
    share_out(running);
  }
  void make_ready(std::size_t i) {
    OracleWork& w = works_[i];
    w.is_ready = true;
    if (shared(w.gpu)) {
      w.parts = parts_of(w, w.begin_layer, w.begin_layer + w.layers);
      start_parts(w.parts, now_);
      set_speeds(w.gpu);
    } else {
      ready_order_.push_back(i);
      start_serial(w.gpu);
    }
  }
  void start_serial(std::uint32_t g) {
    for (const OracleWork& w : works_) {
      if (w.gpu != g || !w.started || w.over) continue;
      if (!piped(g) || !w.slot_free) return;
    }
    for (const std::size_t i : ready_order_) {
      OracleWork& w = works_[i];
      if (w.gpu != g || w.over || w.started) continue;
      w.started = true;
      if (piped(g))
        enter_stages(w);
      else
        w.end = now_ + w.alone;
      return;
    }
  }

  void free_first_stages() {
    for (bool again = true; again;) {
      again = false;
      for (OracleWork& w : works_) {
        if (!w.started || w.slot_free || !piped(w.gpu) || w.first_free != now_) continue;
        w.slot_free = again = true;
        held_since_[w.gpu] = now_;
        freed_[w.gpu] = 1;
        start_serial(w.gpu);
        break;
      }
    }
  }

  // ---- ends

  void finish(std::size_t i) {
    OracleWork& w = works_[i];
    const std::uint32_t gpu = w.gpu;
    w.over = true;
    if (!w.slot_free) held_since_[gpu] = now_;
    const Model& m = s_.models[w.model];
    std::int64_t bytes = 0;
    std::vector<std::size_t> answered;
    for (const std::size_t t : w.tasks) {
      OracleTask& task = tasks_[t];
      OracleRequest& r = requests_[task.request];
      task.layer += w.layers;
      task.place = w.gpu;
      outstanding_[w.gpu] -= load_of(task.model, w.gpu);
      if (task.layer < task.end) {
        task.waiting = true;
        freed_[w.gpu] = 1;  // where it was, it may go on, and elsewhere if not there
        went_on_.push_back(t);
        continue;
      }
      if (task.apart) {
        r.strand_done[task.strand] = 1;
        r.strand_place[task.strand] = w.gpu;
      }
      if (task.apart && std::ranges::count(r.strand_done, 0) > 0) continue;
      answered.push_back(task.request);
      bytes += m.output_bytes;
    }
    const std::int64_t back = bytes > 0 ? copy(w.gpu, kHost, bytes) : now_;
    for (const std::size_t r : answered) requests_[r].answer = back;
    const std::vector<std::size_t> done = w.tasks;
    for (const std::size_t t : done) {
      if (tasks_[t].apart && tasks_[t].layer == tasks_[t].end) start_strands(tasks_[t].request, tasks_[t].strand);
    }
    let_in(gpu);
  }
  /// Strands that needed this one and now have all. `strand` none: those that need nothing.
  void start_strands(std::size_t request, std::size_t strand) {
    const std::uint32_t model = requests_[request].model;
    const OracleGraph& graph = graphs_[model];
    for (std::uint32_t k = 0; k < graph.strands().size(); ++k) {
      const std::vector<std::pair<std::size_t, std::int64_t>> sources = graph.sources(k);
      bool after = strand == OracleGraph::kNone && sources.empty(), all = true;
      for (const auto& [source, bytes] : sources) {
        after = after || source == strand;
        all = all && requests_[request].strand_done[source] != 0;
      }
      if (!after || !all) continue;
      OracleTask task;
      task.request = request;
      task.model = model;
      task.begin = task.layer = graph.strands()[k].first;
      task.end = graph.strands()[k].second;
      task.strand = k;
      task.apart = true;
      if (strand != OracleGraph::kNone) task.place = requests_[request].strand_place[strand];
      tasks_.push_back(task);
      new_task_ = true;
    }
  }

  // ---- policies

  bool is_dispatching() const {
    return policy_ == "round_robin" || policy_ == "least_loaded" || policy_ == "shortest_queue";
  }
  std::int64_t load_of(std::uint32_t model, std::uint32_t g) const {
    if (policy_ == "shortest_queue") return 1;
    OracleWork w;
    w.gpu = g;
    w.model = model;
    w.tasks = {0};
    return play_alone(w, 0, s_.models[model].layers);
  }
  void came(std::size_t number) {
    OracleRequest& request = requests_[number];
    const OracleGraph& graph = graphs_[request.model];
    if (policy_ == "branch_fifo" && !graph.is_chain()) {
      request.strand_done.assign(graph.strands().size(), 0);
      request.strand_place.assign(graph.strands().size(), kHost);
      start_strands(number, OracleGraph::kNone);
      return;
    }
    tasks_.emplace_back();
    OracleTask& r = tasks_.back();
    r.request = number;
    r.model = request.model;
    r.end = s_.models[request.model].layers;
    if (!is_dispatching()) return;
    const auto count = static_cast<std::uint32_t>(s_.gpus.size());
    if (policy_ == "round_robin") {
      do r.queue = turn_++ % count;
      while (!may(r.model, r.queue));
    } else {
      for (std::uint32_t g = 0; g < count; ++g) {
        if (may(r.model, g) && (r.queue == kHost || outstanding_[g] < outstanding_[r.queue])) r.queue = g;
      }
    }
    outstanding_[r.queue] += load_of(r.model, r.queue);
  }
  bool may(std::uint32_t model, std::uint32_t g) const {
    if (options_.placement.empty() || options_.placement[model].empty()) return true;
    return std::ranges::count(options_.placement[model], g) > 0;
  }
  std::int64_t timer_at() const {
    std::int64_t at = kNever;
    if (policy_ != "dynamic_batching") return at;
    for (const OracleTask& t : tasks_) {
      const std::int64_t due = requests_[t.request].arrival + options_.delay_ps;
      if (t.waiting && due > now_) at = std::min(at, due);
    }
    return at;
  }
  std::size_t first_waiting(const std::function<bool(const OracleTask&, const OracleTask&)>& before,
                            std::uint32_t g) const {
    std::size_t best = tasks_.size();
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (!tasks_[i].waiting || !may(tasks_[i].model, g) || (is_dispatching() && tasks_[i].queue != g)) continue;
      if (best == tasks_.size() || before(tasks_[i], tasks_[best])) best = i;
    }
    return best;
  }
  /// Whether a comes before b, where b stands before a in the order of arrival.
  bool before(const OracleTask& a, const OracleTask& b, std::uint32_t g) const {
    const Model &ma = s_.models[a.model], &mb = s_.models[b.model];
    const auto deadline = [&](const OracleTask& t, const Model& m) {
      return m.deadline_ps == kNever ? kNever : requests_[t.request].arrival + m.deadline_ps;
    };
    if (policy_ == "branch_fifo") return std::pair(a.request, a.begin) < std::pair(b.request, b.begin);
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
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].waiting && tasks_[i].model == model &&
          out.size() < std::min(options_.batch, s_.models[model].max_batch))
        out.push_back(i);
    }
    return out;
  }
  std::vector<std::size_t> pick_batch(std::uint32_t g) const {
    std::vector<std::size_t> best;
    for (std::uint32_t m = 0; m < s_.models.size(); ++m) {
      if (!may(m, g)) continue;
      const std::vector<std::size_t> b = batch(m);
      if (b.empty()) continue;
      const bool full = b.size() == std::min(options_.batch, s_.models[m].max_batch);
      const bool due =
          policy_ == "dynamic_batching" && requests_[tasks_[b[0]].request].arrival + options_.delay_ps <= now_;
      const bool ends = policy_ == "static_batching" && draining_;
      if ((full || due || ends) && (best.empty() || b[0] < best[0])) best = b;
    }
    return best;
  }
  /// Again and again the first of all, until each is full or has nothing to take.
  void ask_all_of(const std::function<bool(std::uint32_t)>& is_asked) {
    std::vector<char> over(s_.gpus.size(), 0);
    for (;;) {
      std::uint32_t least = kHost;
      for (std::uint32_t g = 0; g < s_.gpus.size(); ++g) {
        if (is_asked(g) && over[g] == 0 && held(g) < s_.gpus[g].slots && (least == kHost || is_before(g, least)))
          least = g;
      }
      if (least == kHost) return;
      if (!ask(least)) over[least] = 1;
    }
  }
  /// It holds less, or it has held as much for a longer time.
  bool is_before(std::uint32_t g, std::uint32_t other) const {
    if (held(g) != held(other)) return held(g) < held(other);
    return held(g) > 0 && held_since_[g] < held_since_[other];
  }
  std::uint32_t held(std::uint32_t g) const {
    std::uint32_t held = 0;
    for (const OracleWork& w : works_) held += !w.over && !w.slot_free && w.gpu == g ? 1 : 0;
    return held;
  }
  bool ask(std::uint32_t g) {
    std::vector<std::size_t> chosen;
    if (policy_ == "static_batching" || policy_ == "dynamic_batching") {
      chosen = pick_batch(g);
    } else {
      const std::size_t i = first_waiting([&](const auto& a, const auto& b) { return before(a, b, g); }, g);
      if (i < tasks_.size()) chosen = {i};
    }
    if (!chosen.empty()) assign(g, chosen);
    return !chosen.empty();
  }
  void assign(std::uint32_t g, const std::vector<std::size_t>& chosen) {
    const OracleTask& first = tasks_[chosen[0]];
    OracleWork w;
    w.gpu = g;
    w.model = first.model;
    w.tasks = chosen;
    w.begin_layer = first.layer;
    w.layers = policy_ == "layer_preemptive" ? 1 : first.end - first.layer;
    w.alone = play_alone(w, first.layer, first.layer + w.layers);
    w.ready = kNever;
    for (const std::size_t t : chosen) tasks_[t].waiting = false;
    ++result_.batches;
    works_.push_back(w);
    held_since_[g] = now_;
    let_in(g);
  }
  /// In the order of assignment, as far as weights have room.
  void let_in(std::uint32_t g) {
    for (std::size_t i = 0; i < works_.size(); ++i) {
      if (works_[i].over || works_[i].has_room || works_[i].gpu != g) continue;
      if (!room(g, works_[i].model)) return;
      fetch(works_[i]);
      if (works_[i].ready == now_) make_ready(i);
    }
  }
  void fetch(OracleWork& w) {
    const std::uint32_t g = w.gpu;
    const Model& m = s_.models[w.model];
    w.ready = now_;
    if (must_load(g, w.model)) {
      ++result_.loads;
      loaded_[g][w.model] = copy(kHost, g, m.weight_bytes);
    }
    w.has_room = true;
    w.ready = std::max(w.ready, loaded_[g][w.model]);
    std::int64_t inputs = 0;
    for (const std::size_t t : w.tasks) {
      const OracleTask& task = tasks_[t];
      if (task.place == kHost) {
        inputs += m.input_bytes;
        continue;
      }
      std::vector<std::pair<std::uint32_t, std::int64_t>> from;
      if (task.apart && task.layer == task.begin) {
        for (const auto& [strand, bytes] : graphs_[task.model].sources(task.strand))
          from.emplace_back(requests_[task.request].strand_place[strand], bytes);
      } else {
        from.emplace_back(task.place, m.state_after.empty() ? m.state_bytes : m.state_after[task.layer - 1]);
      }
      for (const auto& [place, bytes] : from) {
        if (place == g) continue;
        ++result_.moves;
        if (bytes > 0) w.ready = std::max(w.ready, copy(place, g, bytes));
      }
    }
    if (inputs > 0) w.ready = std::max(w.ready, copy(kHost, g, inputs));
  }

  std::string policy_;
  const PolicyOptions& options_;
  std::vector<OracleRequest> requests_;
  std::vector<OracleTask> tasks_;
  std::vector<std::size_t> ready_order_;
  std::vector<std::size_t> went_on_;  ///< tasks of which some layers ended now, and not all
  std::vector<std::int64_t> outstanding_, held_since_;
  std::vector<char> freed_;
  std::uint32_t turn_ = 0;
  bool draining_ = false, new_task_ = false;
};

}  // namespace distsim::serving::test
