#include "sim/serving/emulator/emulator.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "base/system/signals.hpp"
#include "sim/serving/emulator/account.hpp"
#include "sim/serving/emulator/assignment_check.hpp"
#include "sim/serving/emulator/branches.hpp"
#include "sim/serving/emulator/capacity.hpp"
#include "sim/serving/emulator/event_heap.hpp"
#include "sim/serving/emulator/gpus/executor.hpp"
#include "sim/serving/emulator/gpus/free_gpus.hpp"
#include "sim/serving/emulator/gpus/late_requests.hpp"
#include "sim/serving/emulator/links.hpp"
#include "sim/serving/emulator/live_view.hpp"
#include "sim/serving/emulator/senders.hpp"
#include "sim/serving/emulator/wait_watch.hpp"
#include "sim/serving/emulator/weights.hpp"
#include "sim/serving/emulator/work.hpp"
#include "sim/serving/policies/queues.hpp"

namespace distsim::serving {
namespace {

/// Requests by model, relative: those of a file where it names them.
std::vector<double> mix_of(const Scenario& s, const Load& load) {
  double weights = 0, unnamed = load.kind == LoadKind::trace ? 0 : 1;
  for (const Model& m : s.models) weights += m.weight;
  std::vector<double> mix(s.models.size(), 0);
  if (load.kind == LoadKind::trace) {
    for (const TraceRow& row : load.trace) ++(row.model < mix.size() ? mix[row.model] : unnamed);
  }
  for (std::size_t m = 0; m < mix.size() && weights > 0; ++m) mix[m] += unnamed * s.models[m].weight / weights;
  return mix;
}

/// Queries at one moment beside one of each client: answers take no time, and a duration never ends.
constexpr std::uint64_t kMostInNoTime = 1'000'000;

class Emulation {
 public:
  Emulation(const Scenario& s, const PolicyEntry& entry, const PolicyOptions& policy_options, const Load& load,
            const RunOptions& options, Observer* observer)
      : s_(s),
        load_(load),
        options_(options),
        observer_(observer),
        takes_branches_(entry.takes_branches),
        links_(s, options.warm_up > 0),
        weights_(s),
        view_(s, pool_, weights_, branches_),
        check_(s, entry, options, pool_),
        watch_(s, entry, policy_options, options.max_wait_ps),
        policy_(entry.create(s, policy_options)),
        executor_(s, works_, heap_),
        late_(s, pool_, links_, weights_, branches_, executor_),
        account_(s, options.warm_up, options.drop_late, capacity_of(s, entry, policy_options, mix_of(s, load))),
        full_since_ps_(s.gpus.size(), 0),
        full_ps_(s.gpus.size(), 0),
        free_(s.gpus),
        draws_(s, load.seed),
        clients_(load, heap_),
        sender_(load, options.arrivals) {
    look_at_sender();
  }

  Result<RunResult> run() {
    TRY(check_.check_overload(load_, account_.overload().capacity()));
    for (;;) {
      const std::int64_t now = std::min(sender_.next_ps(), heap_.empty() ? kNever : heap_.top().time_ps());
      if (now == kNever) {
        TRY_ASSIGN(const bool more, flush());
        if (!more) break;
        continue;
      }
      if (now > kLongestPs && is_over()) break;  // what is left are timers of batches that have filled since
      if (now > kLongestPs) return check_.too_long(account_.in_system());
      now_ps_ = now;
      view_.set_now(now);
      while (!heap_.empty() && heap_.top().time_ps() == now) handle(heap_.pop());
      while (sender_.is_due(now) && account_.in_system() <= options_.max_in_system) take_arrival();
      if (in_no_time_ > load_.clients + kMostInNoTime && load_.requests == 0) return check_.in_no_time(now);
      if (account_.in_system() > options_.max_in_system)
        return check_.too_many(account_.in_system(), now, load_, account_.overload());
      TRY(assign_all());
      sender_.decided();
      if (look_at_sender()) TRY(assign_all());
      ++rounds_;
      if (watch_.is_due(now, pool_.size())) TRY(check_.check_waits(watch_, free_.held(), now));
      if ((rounds_ & 0xFFFF) != 0) continue;
      if (end_asked()) return Error{"interrupted", "", ""};
      tell_sent();
    }
    tell_sent();
    if (account_.last_answer_ps() > kLongestPs) return check_.too_long(0);
    return account_.finish(load_, weights_.evictions(), executor_.busy_ps(), links_.busy_ps(),
                           executor_.used_until(now_ps_), occupied_ps());
  }

 private:
  void tell_sent() {
    if (options_.on_sent) options_.on_sent(account_.result().sent - told_sent_);
    told_sent_ = account_.result().sent;
  }

  // ---- load

  bool sends_no_more() const {
    return load_.is_closed() ? clients_.end(now_ps_, account_.result().sent) : sender_.is_over();
  }
  bool is_over() const { return sends_no_more() && account_.in_system() == 0; }
  /// Whether the end of the load has been seen just now: after the last request was decided, as whoever sends them one by one
  /// says so. Batches have nothing more to wait for.
  bool look_at_sender() {
    if (load_.is_closed() || sender_.is_over() == view_.draining()) return false;
    view_.set_draining(sender_.is_over());
    if (sender_.is_over()) ask_all_ = true;
    return sender_.is_over();
  }
  void take_arrival() {
    const TraceRow row = sender_.take();
    if (!row.tick) add_request(row.model, 0);
  }
  void send_query(std::uint32_t client) {
    if (clients_.end(now_ps_, account_.result().sent)) return;
    in_no_time_ = now_ps_ == queried_ps_ ? in_no_time_ + 1 : 0;
    queried_ps_ = now_ps_;
    clients_.sends(client, now_ps_, account_.result().sent >= options_.warm_up);
    for (std::uint32_t i = 0; i < load_.samples; ++i) add_request(0xFFFFFFFFu, client);
    if (!clients_.end(now_ps_, account_.result().sent)) return;
    view_.set_draining(true);
    ask_all_ = true;
  }

  void add_request(std::uint32_t model, std::uint32_t client) {
    if (model == 0xFFFFFFFFu) model = draws_.model();
    const Model& m = s_.models[model];
    const RequestSlot slot = pool_.take();
    Request& r = pool_[slot];
    r = Request{};
    if (account_.begins_to_count())
      account_.begin_to_count(now_ps_, executor_.busy_until(now_ps_), links_.busy_until(now_ps_),
                              executor_.used_until(now_ps_));
    r.number = account_.sent();
    r.arrival_ps = r.waiting_since_ps = now_ps_;
    r.deadline_ps = m.deadline_ps == kNever ? kNever : now_ps_ + m.deadline_ps;
    r.model = model;
    r.end_layer = m.layers;
    r.client = client;
    r.priority = m.priority;
    if (!s_.classes.empty()) join_class(r);
    r.factor = draws_.factor(m, model);
    if (m.refused) {
      answer(slot, now_ps_, kHost, true);
      return;
    }
    account_.admitted(r, may_be_dropped(r));
    starts_waiting(r);
    if (takes_branches_ && !m.graph.is_chain())
      take_apart(slot);
    else
      wake(policy_->arrived(view_, slot));
  }
  /// As LateRequests will find it: a request that is taken apart at several places at once is kept.
  bool may_be_dropped(const Request& r) const {
    const LayerGraph& graph = s_.models[r.model].graph;
    return r.deadline_ps != kNever && (!takes_branches_ || graph.is_chain() || graph.has_one_start());
  }
  void starts_waiting(Request& r) {
    r.waiting = true;
    r.waiting_since_ps = now_ps_;
    ++waiting_;
  }
  void stops_waiting(RequestSlot slot) {
    waiting_ -= pool_[slot].waiting ? 1 : 0;
    pool_[slot].waiting = false;
  }
  void join_class(Request& r) {
    r.service_class = draws_.service_class();
    const ServiceClass& c = s_.classes[r.service_class];
    r.priority += c.priority;
    if (c.deadline_ps != kNever) r.deadline_ps = now_ps_ + c.deadline_ps;
  }

  // ---- branches

  /// A request becomes a task for each strand that needs nothing before it.
  void take_apart(RequestSlot slot) {
    Request r = pool_[slot];
    stops_waiting(slot);
    pool_.give_back(slot);
    const std::vector<LayerGraph::Strand>& strands = s_.models[r.model].graph.strands();
    r.whole = branches_.take(s_.models[r.model]);
    for (std::uint32_t k = 0; k < strands.size(); ++k) {
      if (strands[k].sources.empty()) add_task(r, k);
    }
  }
  /// `before`: the request, or the task whose end lets the strand start and whose waiting and execution are before it.
  void add_task(Request before, std::uint32_t strand) {
    const LayerGraph::Strand& k = s_.models[before.model].graph.strands()[strand];
    const RequestSlot slot = pool_.take();
    Request& r = pool_[slot];
    r = before;
    r.strand = strand;
    r.begin_layer = r.next_layer = k.begin;
    r.end_layer = k.end;
    r.waiting = false;
    starts_waiting(r);
    wake(policy_->arrived(view_, slot));
  }
  void end_task(RequestSlot slot, std::uint32_t gpu) {
    const Request r = pool_[slot];
    if (branches_.done(r.whole, r.strand, gpu)) {
      branches_.give_back(r.whole);
      answer(slot, outputs_at_ps_, gpu, false);
      return;
    }
    pool_.give_back(slot);
    for (const std::uint32_t next : s_.models[r.model].graph.strands()[r.strand].next) {
      if (branches_.source_done(r.whole, next)) add_task(r, next);
    }
  }
  bool ends_request(const Request& r) const {
    return r.next_layer == r.end_layer && (r.whole == kNoWhole || branches_.is_last(r.whole));
  }

  /// By GPU: time with all slots taken, or in which it executed, whichever is longer. When a pipeline's stages are full
  /// cannot be told from its slots.
  std::vector<std::int64_t> occupied_ps() const {
    std::vector<std::int64_t> out = executor_.busy_ps();
    for (std::uint32_t g = 0; g < out.size(); ++g) {
      const bool piped = s_.gpus[g].execution == Execution::pipeline;
      out[g] = std::max(out[g], piped ? account_.last_answer_ps() : full_ps_[g]);
    }
    return out;
  }

  // ---- events

  void handle(Event event) {
    ++account_.result().events;
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
        if (event.time_ps() == timer_ps_) timer_ps_ = kNever;
        ask_all_ = true;
        break;
    }
  }

  void free_slot(std::uint32_t gpu) {
    if (free_.is_full(gpu)) full_ps_[gpu] += now_ps_ - full_since_ps_[gpu];
    free_.free_slot(gpu, now_ps_);
    if (free_.held()[gpu] == 0) watch_.rests(gpu, now_ps_);
    to_ask_.push_back(gpu);
  }

  /// The end of a piece of work.
  void done(std::uint32_t id, bool frees_slot) {
    Work& work = works_[id];
    const std::int64_t executed = now_ps_ - work.start_ps - work.sent_ps - work.held_up_ps;
    account_.executed(work, now_ps_);
    if (observer_ != nullptr)
      observer_->executed({work.gpu, work.model, work.begin_layer, work.end_layer(), work.assigned_ps, work.start_ps,
                           now_ps_, &work.requests});
    for (const RequestSlot slot : work.requests) {
      Request& r = pool_[slot];
      r.next_layer += work.layers;
      r.place = work.gpu;
      r.moved_ps += work.ready_ps - work.assigned_ps + work.sent_ps;
      r.waited_ps += work.start_ps - work.ready_ps + work.held_up_ps;
      r.served_ps += executed;
    }
    policy_->executed(view_, work.gpu, work.requests);
    return_outputs(work);
    for (const RequestSlot slot : work.requests) {
      Request& r = pool_[slot];
      if (r.next_layer < r.end_layer) {
        starts_waiting(r);
        wake_here_first(policy_->continued(view_, slot), slot);
      } else if (r.whole != kNoWhole) {
        end_task(slot, work.gpu);
      } else {
        answer(slot, outputs_at_ps_, work.gpu, false);
      }
    }
    give_room(work.gpu, work.model);
    if (frees_slot) free_slot(work.gpu);
    works_.give_back(id);
  }

  /// One transfer to the host for all requests of the batch that are finished.
  void return_outputs(const Work& work) {
    std::int64_t bytes = 0;
    for (const RequestSlot slot : work.requests) {
      if (ends_request(pool_[slot])) bytes += s_.models[work.model].output_bytes;
    }
    outputs_at_ps_ = bytes > 0 ? links_.transfer(now_ps_, work.gpu, kHost, bytes) : now_ps_;
  }

  void answer(RequestSlot slot, std::int64_t at_ps, std::uint32_t gpu, bool dropped) {
    const Request& r = pool_[slot];  // as it was until another one comes
    stops_waiting(slot);
    pool_.give_back(slot);
    account_.answered(r, now_ps_, at_ps, dropped);
    if (observer_ != nullptr) observer_->answered({r.number, r.model, gpu, r.arrival_ps, at_ps, dropped});
    if (load_.is_closed()) clients_.answered(r.client, at_ps, account_.result().query_ps);
  }

  // ---- assignment

  void wake(std::uint32_t gpu) {
    if (gpu == kAnyGpu)
      ask_all_ = true;
    else if (gpu < s_.gpus.size())
      to_ask_.push_back(gpu);
    else if (gpu != kNoGpu)
      bad_gpu_ = gpu;
  }

  void wake_here_first(std::uint32_t gpu, RequestSlot slot) {
    if (gpu == kHereFirst) goes_on_.push_back(slot);
    wake(gpu == kHereFirst ? pool_[slot].place : gpu);
  }

  Result<void> assign_all() {
    if (bad_gpu_ != kNoGpu) return check_.no_such_gpu(bad_gpu_);
    if (waiting_ > 0 && ask_all_) {
      TRY(ask_free());
    } else if (waiting_ > 0) {
      TRY(ask_some());
      const auto left = [&](RequestSlot slot) { return pool_[slot].waiting; };
      if (std::ranges::any_of(goes_on_, left)) TRY(ask_free());
    }
    ask_all_ = false;
    to_ask_.clear();
    goes_on_.clear();
    return {};
  }
  Result<void> ask_free() {
    for (FreeGpus::Rank at = free_.first(); at.gpu != IdSet::kNone && waiting_ > 0; at = free_.after(at)) {
      TRY_ASSIGN(const bool more, fill(at.gpu));
      if (!more) break;
    }
    return {};
  }
  /// Those of to_ask_, in the same order.
  Result<void> ask_some() {
    if (to_ask_.size() > 1) {
      std::ranges::sort(to_ask_);
      to_ask_.erase(std::unique(to_ask_.begin(), to_ask_.end()), to_ask_.end());
    }
    ranks_.clear();
    for (const std::uint32_t g : to_ask_) ranks_.push_back(free_.rank_of(g));
    std::ranges::make_heap(ranks_, std::greater());
    while (!ranks_.empty()) {
      std::ranges::pop_heap(ranks_, std::greater());
      const FreeGpus::Rank at = ranks_.back();
      ranks_.pop_back();
      TRY_ASSIGN(const bool more, fill(at.gpu));
      if (!more) break;
      if (free_.held()[at.gpu] == at.held || free_.is_full(at.gpu)) continue;
      ranks_.push_back(free_.rank_of(at.gpu));
      std::ranges::push_heap(ranks_, std::greater());
    }
    return {};
  }
  /// Asks for a GPU until it holds one piece more, or takes none. False: the others need not be asked either.
  Result<bool> fill(std::uint32_t g) {
    const std::uint32_t before = free_.held()[g];
    while (waiting_ > 0 && !free_.is_full(g) && free_.held()[g] == before) {
      TRY_ASSIGN(const Answer answer, ask(g));
      if (answer == Answer::work) continue;
      return answer == Answer::nothing;
    }
    return true;
  }

  Result<Answer> ask(std::uint32_t g) {
    assignment_.requests.clear();
    assignment_.layers = 0;
    std::int64_t wake_ps = kNever;
    const Answer answer = policy_->next(view_, g, assignment_, wake_ps);
    if (answer != Answer::work && wake_ps < timer_ps_) {
      if (wake_ps <= now_ps_) return check_.nonsense("asked to be woken at a time that has passed");
      timer_ps_ = wake_ps;
      heap_.push(Event::of(wake_ps, EventKind::timer, 0));
    }
    if (answer != Answer::work) return answer;
    if (!check_.is_plainly_good(assignment_, g, now_ps_)) TRY(check_.check(assignment_, g, now_ps_));
    if (options_.drop_late) drop_late(g);
    if (!assignment_.requests.empty()) begin_work(g);
    return answer;
  }

  void drop_late(std::uint32_t g) {
    for (const RequestSlot slot : late_.take_from(assignment_.requests, g, now_ps_)) {
      policy_->dropped(view_, g, slot);
      if (pool_[slot].whole != kNoWhole) branches_.give_back(pool_[slot].whole);
      answer(slot, now_ps_, g, true);
    }
  }

  void begin_work(std::uint32_t g) {
    const std::uint32_t id = works_.take();
    Work& work = works_[id];
    work.requests.assign(assignment_.requests.begin(), assignment_.requests.end());
    const Request& first = pool_[work.requests.front()];
    work.gpu = g;
    work.model = first.model;
    work.begin_layer = first.next_layer;
    work.layers = first.end_layer;
    work.assigned_ps = now_ps_;
    work.factor = 0;
    work.sent_ps = work.held_up_ps = 0;
    for (const RequestSlot slot : work.requests) {
      Request& r = pool_[slot];
      work.layers = std::min(work.layers, r.end_layer - r.next_layer);
      work.factor = std::max(work.factor, r.factor);
      r.waited_ps += now_ps_ - r.waiting_since_ps;
      stops_waiting(slot);
    }
    if (assignment_.layers > 0) work.layers = std::min(work.layers, assignment_.layers);
    const std::int64_t alone =
        s_.time_ps(s_.gpus[g].kind, work.model, work.begin_layer, work.end_layer(), work.batch());
    work.alone_ps = work.factor == 1 ? alone : bounded_ps(static_cast<double>(alone) * work.factor);
    work.order = account_.assigned(work.model);
    if (free_.held()[g] == 0) watch_.works(g, now_ps_);
    free_.take_slot(g, now_ps_);
    if (free_.is_full(g)) full_since_ps_[g] = now_ps_;
    if (observer_ != nullptr) {
      numbers_.clear();
      for (const RequestSlot slot : work.requests) numbers_.push_back(pool_[slot].number);
      observer_->assigned({now_ps_, g, work.model, work.begin_layer, work.end_layer(), &numbers_});
    }
    if (!for_room_.empty() && !for_room_[g].empty()) {
      for_room_[g].push(id);
    } else if (!fetch_if_room(id)) {
      for_room_.resize(s_.gpus.size());
      for_room_[g].push(id);
    }
  }

  /// False: its weights have no room before other work on the GPU has ended.
  bool fetch_if_room(std::uint32_t id) {
    const Work& work = works_[id];
    const Weights::Use use = weights_.use(work.gpu, work.model);
    if (use == Weights::Use::wait) return false;
    const std::int64_t fetched = fetch(work, s_.models[work.model], use == Weights::Use::load);
    if (fetched > now_ps_)
      heap_.push(Event::of(fetched, EventKind::work_ready, work.event_order(), id));
    else
      executor_.ready(id, now_ps_);
    return true;
  }
  /// A piece of work has ended. Those that wait for room are let in in the order of assignment, so that none waits for ever.
  void give_room(std::uint32_t g, std::uint32_t model) {
    weights_.release(g, model);
    if (for_room_.empty()) return;
    while (!for_room_[g].empty() && fetch_if_room(for_room_[g].front())) for_room_[g].pop();
  }

  /// When weights, inputs and the data of moved requests are on the GPU.
  std::int64_t fetch(const Work& work, const Model& m, bool loads) {
    std::int64_t end = now_ps_, inputs = 0;
    if (loads) {
      ++account_.result().weight_loads;
      weights_.loaded(work.gpu, work.model, end = links_.transfer(now_ps_, kHost, work.gpu, m.weight_bytes));
    } else {
      end = std::max(end, weights_.there_at_ps(work.gpu, work.model));
    }
    for (const RequestSlot slot : work.requests) {
      for_each_fetch(s_, branches_, pool_[slot], work.gpu, [&](std::uint32_t from, std::int64_t bytes) {
        if (from == kHost) {
          inputs += bytes;
          return;
        }
        account_.moved(work.model);
        if (bytes > 0) end = std::max(end, links_.transfer(now_ps_, from, work.gpu, bytes));
      });
    }
    if (inputs > 0) end = std::max(end, links_.transfer(now_ps_, kHost, work.gpu, inputs));
    return end;
  }

  /// Nothing is under way and nothing will come: what still waits is asked for once more.
  Result<bool> flush() {
    if (account_.in_system() == 0) return false;
    view_.set_draining(true);
    ask_all_ = true;
    TRY(assign_all());
    view_.set_draining(sends_no_more());
    if (heap_.empty()) TRY(check_.check_end(now_ps_));
    return true;
  }

  const Scenario& s_;
  const Load& load_;
  const RunOptions& options_;
  Observer* observer_;
  bool takes_branches_;
  Links links_;
  Weights weights_;
  Branches branches_;
  RequestPool pool_;
  LiveView view_;
  AssignmentCheck check_;
  WaitWatch watch_;
  std::unique_ptr<Policy> policy_;
  EventHeap heap_;
  WorkPool works_;
  Executor executor_;
  LateRequests late_;
  Account account_;
  std::vector<std::int64_t> full_since_ps_, full_ps_;
  std::uint32_t planned_ = kNoGpu;  ///< shared GPU whose next end is to be planned
  FreeGpus free_;
  std::vector<std::uint32_t> to_ask_;
  std::vector<FreeGpus::Rank> ranks_;  ///< of them
  std::vector<Fifo> for_room_;         ///< by GPU: pieces of work whose weights have no room; empty: none has waited
  std::vector<RequestSlot> goes_on_;   ///< requests in progress that first their own GPU is asked for
  std::uint64_t waiting_ = 0;          ///< requests that a policy has
  RequestDraws draws_;
  Clients clients_;
  OpenSender sender_;
  bool ask_all_ = false;
  std::uint32_t bad_gpu_ = kNoGpu;
  Assignment assignment_;
  std::vector<std::uint64_t> numbers_;  ///< for observers
  std::int64_t now_ps_ = 0, timer_ps_ = kNever, outputs_at_ps_ = 0, queried_ps_ = 0;
  std::uint64_t told_sent_ = 0, rounds_ = 0, in_no_time_ = 0;  ///< queries at this moment
};

}  // namespace

Result<RunResult> emulate(const Scenario& scenario, const PolicyEntry& policy, const PolicyOptions& policy_options,
                          const Load& load, const RunOptions& options, Observer* observer) {
  try {
    return Emulation(scenario, policy, policy_options, load, options, observer).run();
  } catch (const PolicyFailure& failure) {
    return Error{"policy " + std::string(policy.name) + ": " + failure.what(), "", ""};
  }
}

}  // namespace distsim::serving
