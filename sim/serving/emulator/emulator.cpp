#include "sim/serving/emulator/emulator.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/system/signals.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/serving/emulator/backlog.hpp"
#include "sim/serving/emulator/event_heap.hpp"
#include "sim/serving/emulator/executor.hpp"
#include "sim/serving/emulator/id_set.hpp"
#include "sim/serving/emulator/links.hpp"
#include "sim/serving/emulator/weights.hpp"
#include "sim/serving/emulator/work.hpp"
#include "sim/serving/load/draws.hpp"

namespace distsim::serving {
namespace {

constexpr double kMsPerPs = 1e-9;

/// What the emulator lets policies see.
class LiveView : public View {
 public:
  LiveView(const Scenario& s, const RequestPool& pool, const Weights& weights) : weights_(weights) {
    scenario_ = &s;
    pool_ = &pool;
  }
  void set_now(std::int64_t now_ps) { now_ps_ = now_ps; }
  void set_draining(bool draining) { draining_ = draining; }
  bool resident(std::uint32_t gpu, std::uint32_t model) const override { return weights_.holds(gpu, model); }

 private:
  const Weights& weights_;
};

struct Client {
  std::uint32_t open = 0;  ///< samples without an answer
  std::int64_t sent_ps = 0, answered_ps = 0;
  bool counted = true;
};

class Emulation {
 public:
  Emulation(const Scenario& s, const PolicyEntry& entry, const PolicyOptions& policy_options, const Load& load,
            const RunOptions& options, Observer* observer)
      : s_(s),
        entry_(entry),
        load_(load),
        options_(options),
        observer_(observer),
        links_(s),
        weights_(s),
        view_(s, pool_, weights_),
        policy_(entry.create(s, policy_options)),
        executor_(s, works_, heap_),
        used_slots_(s.gpus.size(), 0),
        free_(static_cast<std::uint32_t>(s.gpus.size())),
        to_ask_(static_cast<std::uint32_t>(s.gpus.size())),
        mix_(weights_of(s.models)),
        class_mix_(weights_of(s.classes)),
        model_draws_(seed_for(load.seed, 1)),
        class_draws_(seed_for(load.seed, 2)),
        think_draws_(seed_for(load.seed, 3)) {
    for (std::uint32_t m = 0; m < s.models.size(); ++m) factor_draws_.emplace_back(seed_for(load.seed, 1000 + m));
    for (std::uint32_t g = 0; g < s.gpus.size(); ++g) free_.insert(g);
    result_.models.resize(s.models.size());
    result_.classes.resize(s.classes.size());
    result_.joules.assign(s.gpus.size(), 0);
    result_.shares.resize(s.models.size());
    result_.warm_up = options.warm_up;
  }

  Result<RunResult> run() {
    start_load();
    for (;;) {
      const std::int64_t now =
          std::min(has_arrival_ ? arrival_.time_ps : kNever, heap_.empty() ? kNever : heap_.top().time_ps);
      if (now == kNever) {
        TRY_ASSIGN(const bool more, flush());
        if (!more) break;
        continue;
      }
      now_ps_ = now;
      view_.set_now(now);
      while (!heap_.empty() && heap_.top().time_ps == now) handle(heap_.pop());
      while (has_arrival_ && !to_fetch_ && arrival_.time_ps == now) take_arrival();
      if (pool_.in_use() > options_.max_in_system) return overload();
      TRY(assign_all());
      if (to_fetch_) fetch_arrival();
      ++rounds_;
      if (options_.max_wait_ps != kNever && (rounds_ & 0xFFF) == 0) TRY(check_waits());
      if ((rounds_ & 0xFFFFF) == 0 && end_asked()) return Error{"interrupted", "", ""};
    }
    return finish();
  }

 private:
  template <class Weighted>
  static std::vector<double> weights_of(const std::vector<Weighted>& items) {
    std::vector<double> weights;
    for (const Weighted& item : items) weights.push_back(item.weight);
    if (weights.empty()) weights.push_back(1);
    return weights;
  }

  // ---- load

  void start_load() {
    if (load_.is_closed()) {
      clients_.resize(load_.clients);
      for (std::uint32_t c = 0; c < load_.clients; ++c) heap_.push(Event::of(think_ps(), EventKind::client, c));
    } else {
      if (options_.arrivals == nullptr) own_arrivals_ = open_arrivals(load_);
      arrivals_ = options_.arrivals != nullptr ? options_.arrivals : own_arrivals_.get();
      fetch_arrival();
    }
  }
  void fetch_arrival() {
    to_fetch_ = false;
    has_arrival_ = arrivals_->next(arrival_);
    view_.set_draining(!has_arrival_);
    if (!has_arrival_) ask_all_ = true;
  }
  void take_arrival() {
    if (!arrival_.tick) add_request(arrival_.model, 0);
    if (options_.arrivals == nullptr)
      fetch_arrival();
    else
      to_fetch_ = true;  // what comes next is known when this one has been decided
  }
  std::int64_t think_ps() {
    return load_.think_s > 0 ? std::llround(std::min(exponential(think_draws_, load_.think_s), 1e6) * 1e12) : 0;
  }
  bool load_ends() const {
    return (load_.requests > 0 && result_.sent >= load_.requests) ||
           (load_.duration_ps > 0 && now_ps_ > load_.duration_ps);
  }
  void send_query(std::uint32_t client) {
    if (load_ends()) return;
    clients_[client] = {load_.samples, now_ps_, now_ps_, result_.sent >= options_.warm_up};
    for (std::uint32_t i = 0; i < load_.samples; ++i) add_request(0xFFFFFFFFu, client);
    if (load_ends()) {
      view_.set_draining(true);
      ask_all_ = true;
    }
  }

  void add_request(std::uint32_t model, std::uint32_t client) {
    if (model == 0xFFFFFFFFu) model = mix_.draw(model_draws_);
    const Model& m = s_.models[model];
    const RequestSlot slot = pool_.take();
    Request& r = pool_[slot];
    r = Request{};
    r.number = result_.sent++;
    r.arrival_ps = r.waiting_since_ps = now_ps_;
    r.deadline_ps = m.deadline_ps == kNever ? kNever : now_ps_ + m.deadline_ps;
    r.model = model;
    r.client = client;
    r.priority = m.priority;
    if (!s_.classes.empty()) join_class(r);
    r.factor = draw_factor(m, model);
    r.waiting = !m.refused;
    if (r.number == options_.warm_up) result_.first_counted_ps = now_ps_;
    if (m.refused) {
      answer(slot, now_ps_, kHost, true);
      return;
    }
    backlog_.arrival(result_.sent, pool_.in_use());
    wake(policy_->arrived(view_, slot));
  }
  void join_class(Request& r) {
    r.service_class = class_mix_.draw(class_draws_);
    const ServiceClass& c = s_.classes[r.service_class];
    r.priority += c.priority;
    if (c.deadline_ps != kNever) r.deadline_ps = now_ps_ + c.deadline_ps;
  }
  double draw_factor(const Model& m, std::uint32_t model) {
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

  // ---- events

  void handle(Event event) {
    ++result_.events;
    switch (event.kind()) {
      case EventKind::work_ready:
        executor_.ready(event.low(), now_ps_);
        break;
      case EventKind::stage_free:
        free_slot(works_[event.low()].gpu);
        executor_.free(works_[event.low()].gpu, now_ps_);
        break;
      case EventKind::work_done: {
        const std::uint32_t gpu = works_[event.low()].gpu;
        const bool piped = s_.gpus[gpu].execution == Execution::pipeline;
        done(event.low(), !piped);
        if (!piped) executor_.free(gpu, now_ps_);
        break;
      }
      case EventKind::shared_done:
        for (const std::uint32_t id : executor_.shared_done(event.order(), event.low(), now_ps_)) {
          done(id, true);
          planned_ = event.order();
        }
        if (planned_ != kNoGpu) executor_.plan_shared(std::exchange(planned_, kNoGpu));
        break;
      case EventKind::client:
        send_query(event.order());
        break;
      case EventKind::timer:
        if (event.time_ps == timer_ps_) timer_ps_ = kNever;
        ask_all_ = true;
        break;
    }
  }

  void free_slot(std::uint32_t gpu) {
    --used_slots_[gpu];
    free_.insert(gpu);
    to_ask_.insert(gpu);
  }

  /// The end of a piece of work.
  void done(std::uint32_t id, bool frees_slot) {
    Work& work = works_[id];
    const std::int64_t executed = now_ps_ - work.start_ps;
    result_.shares[work.model].executing_ps += work.alone_ps / s_.gpus[work.gpu].stages;
    result_.joules[work.gpu] +=
        work.factor * s_.joules(s_.gpus[work.gpu], work.model, work.begin_layer, work.end_layer(), work.batch());
    if (observer_ != nullptr)
      observer_->executed({work.gpu, work.model, work.begin_layer, work.end_layer(), work.assigned_ps, work.start_ps,
                           now_ps_, &work.requests});
    for (const RequestSlot slot : work.requests) {
      Request& r = pool_[slot];
      r.next_layer += work.layers;
      r.place = work.gpu;
      r.moved_ps += work.ready_ps - work.assigned_ps;
      r.waited_ps += work.start_ps - work.ready_ps;
      r.served_ps += executed;
    }
    policy_->executed(view_, work.gpu, work.requests);
    return_outputs(work);
    for (const RequestSlot slot : work.requests) {
      Request& r = pool_[slot];
      if (r.next_layer < s_.models[r.model].layers) {
        r.waiting = true;
        r.waiting_since_ps = now_ps_;
        wake(policy_->continued(view_, slot));
      } else {
        answer(slot, outputs_at_ps_, work.gpu, false);
      }
    }
    if (frees_slot) free_slot(work.gpu);
    works_.give_back(id);
  }

  /// One transfer to the host for all requests of the batch that are finished.
  void return_outputs(const Work& work) {
    std::int64_t bytes = 0;
    for (const RequestSlot slot : work.requests) {
      if (pool_[slot].next_layer == s_.models[work.model].layers) bytes += s_.models[work.model].output_bytes;
    }
    outputs_at_ps_ = bytes > 0 ? links_.transfer(now_ps_, work.gpu, kHost, bytes) : now_ps_;
  }

  void answer(RequestSlot slot, std::int64_t at_ps, std::uint32_t gpu, bool dropped) {
    const Request r = pool_[slot];
    pool_[slot].waiting = false;
    pool_.give_back(slot);
    last_answer_ps_ = std::max(last_answer_ps_, at_ps);
    if (r.number >= options_.warm_up) {
      count(result_.all, r, at_ps, dropped);
      count(result_.models[r.model], r, at_ps, dropped);
      if (!result_.classes.empty()) count(result_.classes[r.service_class], r, at_ps, dropped);
    }
    if (observer_ != nullptr) observer_->answered({r.number, r.model, gpu, r.arrival_ps, at_ps, dropped});
    if (load_.is_closed()) answer_client(r.client, at_ps);
  }
  void count(Tally& tally, const Request& r, std::int64_t at_ps, bool dropped) const {
    ++tally.requests;
    if (dropped || at_ps > r.deadline_ps) ++tally.violations;
    if (dropped) {
      ++tally.dropped;
      return;
    }
    tally.latency_ps.add(at_ps - r.arrival_ps);
    tally.latency_ms.add(static_cast<double>(at_ps - r.arrival_ps) * kMsPerPs);
    tally.waited_ms += static_cast<double>(r.waited_ps) * kMsPerPs;
    tally.fetched_ms += static_cast<double>(r.moved_ps) * kMsPerPs;
    tally.executed_ms += static_cast<double>(r.served_ps) * kMsPerPs;
    tally.returned_ms += static_cast<double>(at_ps - now_ps_) * kMsPerPs;
  }
  void answer_client(std::uint32_t id, std::int64_t at_ps) {
    Client& client = clients_[id];
    client.answered_ps = std::max(client.answered_ps, at_ps);
    if (--client.open > 0) return;
    if (client.counted) result_.query_ps.add(client.answered_ps - client.sent_ps);
    heap_.push(Event::of(client.answered_ps + think_ps(), EventKind::client, id));
  }

  // ---- assignment

  void wake(std::uint32_t gpu) {
    if (gpu == kAnyGpu)
      ask_all_ = true;
    else if (gpu < s_.gpus.size())
      to_ask_.insert(gpu);
    else if (gpu != kNoGpu)
      bad_gpu_ = gpu;
  }

  Result<void> assign_all() {
    if (bad_gpu_ != kNoGpu)
      return nonsense("named GPU " + std::to_string(bad_gpu_) + " of " + counted(s_.gpus.size(), "GPU"));
    const bool everyone = ask_all_;
    const IdSet& asked = everyone ? free_ : to_ask_;
    bool nobody = false;
    for (std::uint32_t g = asked.first(); g != IdSet::kNone; g = asked.next(g + 1)) {
      to_ask_.erase(g);
      while (!nobody && used_slots_[g] < s_.gpus[g].slots) {
        TRY_ASSIGN(const Answer answer, ask(g));
        nobody = answer == Answer::nobody || answer == Answer::later;
        if (answer != Answer::work) break;
      }
      if (nobody && everyone) break;
    }
    ask_all_ = false;
    for (std::uint32_t g = to_ask_.first(); g != IdSet::kNone; g = to_ask_.next(g + 1)) to_ask_.erase(g);
    return {};
  }

  Result<Answer> ask(std::uint32_t g) {
    assignment_.requests.clear();
    assignment_.layers = 0;
    std::int64_t wake_ps = kNever;
    const Answer answer = policy_->next(view_, g, assignment_, wake_ps);
    if (answer == Answer::later && wake_ps < timer_ps_) {
      if (wake_ps <= now_ps_) return nonsense("asked to be woken at a time that has passed");
      timer_ps_ = wake_ps;
      heap_.push(Event::of(wake_ps, EventKind::timer, 0));
    }
    if (answer != Answer::work) return answer;
    TRY(check_assignment(g));
    if (options_.drop_late) drop_late(g);
    if (!assignment_.requests.empty()) begin_work(g);
    return answer;
  }

  Result<void> check_assignment(std::uint32_t g) const {
    if (assignment_.requests.empty()) return nonsense("handed out no request");
    std::uint32_t model = 0, layer = 0;
    for (std::size_t i = 0; i < assignment_.requests.size(); ++i) {
      const RequestSlot slot = assignment_.requests[i];
      if (slot >= pool_.size() || !pool_[slot].waiting) return nonsense("handed out a request that does not wait");
      const Request& r = pool_[slot];
      if (now_ps_ - r.waiting_since_ps > options_.max_wait_ps) return starved(r);
      if (i == 0) {
        model = r.model;
        layer = r.next_layer;
      }
      if (r.model != model) return nonsense("put requests of two models into one batch");
      if (r.next_layer != layer && !s_.models[model].cells)
        return nonsense("put requests at different layers into one batch");
      for (std::size_t j = 0; j < i; ++j) {
        if (assignment_.requests[j] == slot) return nonsense("handed out a request twice");
      }
    }
    if (!s_.runs_on(s_.gpus[g].kind, model))
      return nonsense("gave " + s_.models[model].name + " to " + s_.gpus[g].name + ", which has no times for it");
    if (assignment_.requests.size() > s_.models[model].max_batch)
      return nonsense("handed out a batch of " + std::to_string(assignment_.requests.size()) + " of " +
                      s_.models[model].name + ", which takes " + std::to_string(s_.models[model].max_batch));
    return {};
  }

  void drop_late(std::uint32_t g) {
    std::erase_if(assignment_.requests, [&](RequestSlot slot) {
      Request& r = pool_[slot];
      if (executor_.end_if_begun(r, g, now_ps_) <= r.deadline_ps) return false;
      r.waiting = false;
      policy_->dropped(view_, g, slot);
      answer(slot, now_ps_, g, true);
      return true;
    });
  }

  void begin_work(std::uint32_t g) {
    const std::uint32_t id = works_.take();
    Work& work = works_[id];
    work.requests.assign(assignment_.requests.begin(), assignment_.requests.end());
    const Request& first = pool_[work.requests.front()];
    const Model& m = s_.models[first.model];
    work.gpu = g;
    work.model = first.model;
    work.begin_layer = first.next_layer;
    work.layers = m.layers;
    work.assigned_ps = now_ps_;
    work.factor = 0;
    for (const RequestSlot slot : work.requests) {
      Request& r = pool_[slot];
      work.layers = std::min(work.layers, m.layers - r.next_layer);
      work.factor = std::max(work.factor, r.factor);
      r.waited_ps += now_ps_ - r.waiting_since_ps;
      r.waiting = false;
    }
    if (assignment_.layers > 0) work.layers = std::min(work.layers, assignment_.layers);
    const std::int64_t alone =
        s_.time_ps(s_.gpus[g].kind, work.model, work.begin_layer, work.end_layer(), work.batch());
    work.alone_ps = work.factor == 1 ? alone : std::llround(static_cast<double>(alone) * work.factor);
    work.order = result_.batches++;
    ++result_.shares[work.model].batches;
    if (++used_slots_[g] == s_.gpus[g].slots) free_.erase(g);
    if (observer_ != nullptr) {
      numbers_.clear();
      for (const RequestSlot slot : work.requests) numbers_.push_back(pool_[slot].number);
      observer_->assigned({now_ps_, g, work.model, work.begin_layer, work.end_layer(), &numbers_});
    }
    const std::int64_t fetched = fetch(work, m);
    if (fetched > now_ps_)
      heap_.push(Event::of(fetched, EventKind::work_ready, work.event_order(), id));
    else
      executor_.ready(id, now_ps_);
  }

  /// When weights, inputs and the data of moved requests are on the GPU.
  std::int64_t fetch(const Work& work, const Model& m) {
    std::int64_t end = now_ps_, inputs = 0;
    if (weights_.use(work.gpu, work.model)) {
      ++result_.weight_loads;
      if (m.weight_bytes > 0) end = std::max(end, links_.transfer(now_ps_, kHost, work.gpu, m.weight_bytes));
    }
    for (const RequestSlot slot : work.requests) {
      const Request& r = pool_[slot];
      if (r.place == work.gpu) continue;
      if (r.place == kHost) {
        inputs += m.input_bytes;
        continue;
      }
      ++result_.moves;
      ++result_.shares[work.model].moves;
      const std::int64_t state = m.state_at(r.next_layer);
      if (state > 0) end = std::max(end, links_.transfer(now_ps_, r.place, work.gpu, state));
    }
    if (inputs > 0) end = std::max(end, links_.transfer(now_ps_, kHost, work.gpu, inputs));
    return end;
  }

  // ---- ends

  Result<void> check_waits() const {
    for (RequestSlot slot = 0; slot < pool_.size(); ++slot) {
      const Request& r = pool_[slot];
      if (r.waiting && now_ps_ - r.waiting_since_ps > options_.max_wait_ps) return starved(r);
    }
    return {};
  }

  /// Nothing is under way and nothing will come: what still waits is asked for once more.
  Result<bool> flush() {
    if (pool_.in_use() == 0) return false;
    view_.set_draining(true);
    ask_all_ = true;
    TRY(assign_all());
    view_.set_draining(!load_.is_closed() || load_ends());
    if (!heap_.empty()) return true;
    for (RequestSlot slot = 0; slot < pool_.size(); ++slot) {
      if (pool_[slot].waiting) return starved(pool_[slot]);
    }
    return true;
  }

  static std::string seconds_text(std::int64_t ps) {
    return format_quantity(static_cast<double>(ps) * 1e-12, Dimension::seconds);
  }
  std::string policy_name() const { return "policy " + std::string(entry_.name); }
  Error nonsense(const std::string& what) const {
    return Error{policy_name() + ": " + what + ", expected an assignment that can be executed", "", ""};
  }
  Error starved(const Request& r) const {
    return Error{
        policy_name() + ": request " + std::to_string(r.number) + " of " + s_.models[r.model].name + " waits since " +
            seconds_text(r.waiting_since_ps) + " and is not started at " + seconds_text(now_ps_) +
            (options_.max_wait_ps == kNever ? ", though nothing else is left to do"
                                            : ", expected a wait of at most " + seconds_text(options_.max_wait_ps)),
        "", ""};
  }
  Error overload() const {
    const double seconds = static_cast<double>(now_ps_) * 1e-12;
    const double served = seconds > 0 ? static_cast<double>(result_.sent - pool_.in_use()) / seconds : 0;
    return Error{policy_name() + ": " + counted(pool_.in_use(), "request") + " in the system after " +
                     format_quantity(seconds, Dimension::seconds) + ", expected at most " +
                     std::to_string(options_.max_in_system) + ": the load is above capacity, which saturates at " +
                     format_quantity(served, Dimension::none) + " requests/s",
                 "", ""};
  }

  RunResult finish() {
    result_.evictions = weights_.evictions();
    result_.makespan_ps = last_answer_ps_;
    result_.busy_ps = executor_.busy_ps();
    for (std::uint32_t g = 0; g < s_.gpus.size(); ++g)
      result_.joules[g] += s_.gpus[g].idle_watts * static_cast<double>(last_answer_ps_) * 1e-12;
    result_.unstable = !load_.is_closed() && load_.kind != LoadKind::offline && backlog_.grows();
    result_.suggested_warm_up = result_.all.latency_ms.warm_up();
    if (result_.makespan_ps > 0)
      result_.served_per_s = static_cast<double>(result_.sent) / (static_cast<double>(result_.makespan_ps) * 1e-12);
    return std::move(result_);
  }

  const Scenario& s_;
  const PolicyEntry& entry_;
  const Load& load_;
  const RunOptions& options_;
  Observer* observer_;
  Links links_;
  Weights weights_;
  RequestPool pool_;
  LiveView view_;
  std::unique_ptr<Policy> policy_;
  EventHeap heap_;
  WorkPool works_;
  Executor executor_;
  std::vector<std::uint32_t> used_slots_;
  std::uint32_t planned_ = kNoGpu;  ///< shared GPU whose next end is to be planned
  IdSet free_, to_ask_;
  WeightedChoice mix_, class_mix_;
  Random model_draws_, class_draws_, think_draws_;
  std::vector<Random> factor_draws_;
  std::unique_ptr<Arrivals> own_arrivals_;
  Arrivals* arrivals_ = nullptr;
  TraceRow arrival_;
  bool has_arrival_ = false, to_fetch_ = false, ask_all_ = false;
  std::uint32_t bad_gpu_ = kNoGpu;
  std::vector<Client> clients_;
  Assignment assignment_;
  std::vector<std::uint64_t> numbers_;  ///< for observers
  Backlog backlog_;
  std::int64_t now_ps_ = 0, timer_ps_ = kNever, last_answer_ps_ = 0, outputs_at_ps_ = 0;
  std::uint64_t rounds_ = 0;
  RunResult result_;
};

}  // namespace

std::int64_t View::fetch_ps(const Request& r, std::uint32_t gpu) const {
  const Model& m = scenario_->models[r.model];
  std::int64_t total = 0;
  if (!resident(gpu, r.model)) total += transfer_ps(*scenario_, route_of(*scenario_, kHost, gpu), m.weight_bytes);
  const std::int64_t bytes = r.place == kHost ? m.input_bytes : m.state_at(r.next_layer);
  if (r.place != gpu && bytes > 0) total += transfer_ps(*scenario_, route_of(*scenario_, r.place, gpu), bytes);
  return total;
}

Result<RunResult> emulate(const Scenario& scenario, const PolicyEntry& policy, const PolicyOptions& policy_options,
                          const Load& load, const RunOptions& options, Observer* observer) {
  try {
    return Emulation(scenario, policy, policy_options, load, options, observer).run();
  } catch (const PolicyFailure& failure) {
    return Error{"policy " + std::string(policy.name) + ": " + failure.what(), "", ""};
  }
}

}  // namespace distsim::serving
