#include "collectives/collective_models.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

#include "base/file.hpp"
#include "base/text/counted.hpp"
#include "collectives/curves/curve_library.hpp"
#include "collectives/pricer.hpp"

namespace distsim::collectives {

namespace {

constexpr double kKernelFloorUs =
    2.0;                             // an empty kernel, as DeviceLaunch::kernel_floor: nothing to send or no receiver
constexpr double kBarrierBytes = 8;  // of NCCL's barrier by a small all_reduce
constexpr std::size_t kMaxCached = 4096;  // kinds of groups; more are priced without being kept

/// A collective as the curves and the model know it: a barrier is an all_reduce of a few bytes, an uneven exchange an
/// even one of its most loaded rank.
struct Priced {
  graph::CollectiveKind kind;
  double bytes;
};

/// Bytes that a rank's uniform send buffer would have for it to exchange `with_others` bytes with the other ranks.
double buffer_of(double with_others, std::uint32_t ranks) { return with_others * ranks / (ranks - 1.0); }

double most_loaded(const graph::Collective& op, std::uint32_t ranks) {
  std::int64_t most = 0;
  for (std::int64_t b : op.send_bytes) most = std::max(most, b);
  for (std::int64_t b : op.recv_bytes) most = std::max(most, b);
  return op.send_bytes.empty() && op.recv_bytes.empty() ? static_cast<double>(op.bytes)
                                                        : buffer_of(static_cast<double>(most), ranks);
}

Priced as_priced(const graph::Collective& op, std::uint32_t ranks) {
  const bool is_barrier = op.kind == graph::CollectiveKind::barrier,
             is_uneven = op.kind == graph::CollectiveKind::all_to_all_v;
  return {kind_priced(op.kind), is_barrier  ? kBarrierBytes
                                : is_uneven ? most_loaded(op, ranks)
                                            : static_cast<double>(op.bytes)};
}

Result<void> check_vector(const std::vector<std::int64_t>& bytes, const char* name, std::uint32_t ranks) {
  if (bytes.empty()) return {};
  if (bytes.size() != ranks) {
    return Error{std::string(name) + ": found " + counted(bytes.size(), "entry", "entries") +
                     ", expected one for each of " + counted(ranks, "rank"),
                 "", ""};
  }
  const auto least = *std::min_element(bytes.begin(), bytes.end());
  if (least < 0)
    return Error{std::string(name) + ": found " + std::to_string(least) + ", expected 0 or more bytes", "", ""};
  return {};
}

Result<void> check_op(const graph::Collective& op, const topology::GroupFacts& facts) {
  if (facts.ranks == 0) return Error{"group: found no ranks, expected at least one", "", ""};
  if (op.bytes < 0)
    return Error{
        std::string(graph::name_of(op.kind)) + ": found " + std::to_string(op.bytes) + " bytes, expected 0 or more", "",
        ""};
  TRY(check_vector(op.send_bytes, "send_bytes", facts.ranks));
  return check_vector(op.recv_bytes, "recv_bytes", facts.ranks);
}

/// Kind and facts, without a copy: what a price is looked up by.
struct KeyView {
  graph::CollectiveKind kind;
  const topology::GroupFacts* facts;
};
struct Key {
  graph::CollectiveKind kind;
  topology::GroupFacts facts;
  operator KeyView() const { return {kind, &facts}; }
};

struct KeyHash {
  using is_transparent = void;
  std::size_t operator()(KeyView k) const {
    const topology::GroupFacts& f = *k.facts;
    std::uint64_t h = static_cast<std::uint64_t>(k.kind);
    const auto mix = [&h](std::uint64_t v) {
      h = (h ^ v) * 0x9E3779B97F4A7C15ull;
      h ^= h >> 29;
    };
    mix(f.ranks);
    mix((std::uint64_t{f.nodes} << 40) ^ (std::uint64_t{f.min_per_node} << 20) ^ f.max_per_node);
    mix(static_cast<std::uint64_t>(f.inter_latency.ps()));
    mix(std::hash<double>{}(f.node_bandwidth.value()));
    mix(std::hash<double>{}(f.network_rate(topology::Traffic::all_pairs).value()));
    mix(std::hash<double>{}(f.intra_ring_bandwidth.value()));
    mix(std::hash<double>{}(f.intra_socket_bandwidth.value()));
    return h;
  }
  std::size_t operator()(const Key& k) const { return (*this)(static_cast<KeyView>(k)); }
};

struct KeyEqual {
  using is_transparent = void;
  bool operator()(KeyView x, KeyView y) const { return x.kind == y.kind && *x.facts == *y.facts; }
};

/// Those that `collectives.constants` names lie over the shipped ones.
Result<ModelConstants> constants_of(const CollectiveOptions& options) {
  if (options.constants.empty()) return shipped_constants();
  TRY_ASSIGN(const std::string text, read_file(options.constants, kMaxCurveFileBytes));
  return read_constants(text, options.constants, shipped_constants(), false);
}

constexpr double kMostChannels = 32;  // MAXCHANNELS of NCCL that its search uses

/// Channels that are busy transferring, on average over the collective's time.
double busy_channels(const AnalyticModel& model, graph::CollectiveKind kind, std::uint32_t ranks, double bytes,
                     Duration time) {
  const double busbw = bytes * graph::busbw_factor(kind, ranks) / time.seconds();
  return std::min(kMostChannels, busbw / model.channel_rate());
}

}  // namespace

/// Pricers or their parts by kind and group, for several threads.
template <class Value>
class KeptByGroup {
 public:
  std::shared_ptr<const Value> find(KeyView key) const {
    std::shared_lock lock(mutex_);
    const auto it = kept_.find(key);
    return it == kept_.end() ? nullptr : it->second;
  }
  /// What is kept for the key from now on.
  std::shared_ptr<const Value> keep(KeyView key, std::shared_ptr<const Value> made) {
    std::unique_lock lock(mutex_);
    if (kept_.size() >= kMaxCached) return made;
    return kept_.try_emplace(Key{key.kind, *key.facts}, std::move(made)).first->second;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<const Value>, KeyHash, KeyEqual> kept_;
};

/// What is known of a system from its files, whatever its links are said to be in a what-if.
struct CollectiveModels::Known {
  ModelConstants constants;
  std::vector<LibraryCurve> library;
  std::vector<std::string> of_files;               ///< what there is to say of the user's files
  std::optional<topology::ClusterSpec> described;  ///< its file, with the links that the curves were measured on
  topology::ClusterSpec loaded_for;
  CollectiveOptions options;
  std::int64_t compute_capability = 0;
  struct Price {
    Selection selection;
    MeasuredPrice price;
  };
  mutable KeptByGroup<Price> prices;

  bool serves(const topology::ClusterSpec& spec, const CollectiveOptions& asked, std::int64_t capability) const {
    CollectiveOptions same = asked;
    same.launch_scale = options.launch_scale;
    return described && options.curve_dirs.size() == 1 && same == options && spec.name == loaded_for.name &&
           spec.device == loaded_for.device && capability == compute_capability &&
           (options.curve_files.empty() ||
            (spec.gpus_per_node == loaded_for.gpus_per_node && spec.gpus_installed == loaded_for.gpus_installed));
  }

  std::shared_ptr<const MeasuredPrice> price(graph::CollectiveKind kind, const topology::GroupFacts& facts,
                                             const LaunchMode& mode) const {
    const KeyView key{kind, &facts};
    std::shared_ptr<const Price> found = prices.find(key);
    if (!found || !(found->selection == mode.selection)) {
      const auto made =
          std::make_shared<const Price>(Price{mode.selection, MeasuredPrice(kind, facts, mode, library, constants)});
      found = found ? made : prices.keep(key, made);
    }
    return {found, &found->price};
  }
};

struct CollectiveModels::Impl {
  std::shared_ptr<const Known> known;
  std::optional<topology::Topology> measured;  // hardware of the curves, where it is another
  std::optional<ModelConstants> launched;      // with `launch_scale`, where it is not 1
  LaunchMode mode;
  mutable KeptByGroup<Pricer> pricers;

  /// The group on the hardware that the curves were measured on, from the first GPU of each node, or of the nodes of each
  /// NVLink domain, on; itself where it is not even or does not fit there.
  topology::GroupFacts as_measured(const topology::GroupFacts& facts) const {
    if (!measured || facts.min_per_node != facts.max_per_node) return facts;
    const topology::NvlinkDomains& domains = measured->domains();
    const std::uint32_t gpus = measured->gpus_per_node();
    if (facts.nodes > domains.count() || facts.max_per_node > domains.nodes_of(facts.nodes - 1) * gpus) return facts;
    std::vector<std::uint32_t> members;
    for (std::uint32_t node = 0; node < facts.nodes; ++node) {
      for (std::uint32_t i = 0; i < facts.max_per_node; ++i) members.push_back(domains.first_node(node) * gpus + i);
    }
    topology::GroupFacts out =
        measured->facts(members, facts.beside_others ? topology::Siblings::active : topology::Siblings::idle);
    return out.nodes == facts.nodes ? out : facts;
  }

  std::shared_ptr<const Pricer> pricer(graph::CollectiveKind kind, const topology::GroupFacts& facts) const {
    const KeyView key{kind, &facts};
    if (auto found = pricers.find(key)) return found;
    return pricers.keep(key, degraded(kind, facts, facts));
  }

  /// Of a group as it is now, from what is known of it when all of it works.
  std::shared_ptr<const Pricer> degraded(graph::CollectiveKind kind, const topology::GroupFacts& facts,
                                         const topology::GroupFacts& sound) const {
    LaunchMode heeding = mode;
    heeding.selection =
        heeded(selection_for(kind, mode.selection), candidates_for(kind, channels_of(sound, known->constants)));
    return std::make_shared<const Pricer>(kind, facts, heeding, launched ? *launched : known->constants,
                                          known->price(kind, as_measured(sound), heeding), !launched);
  }

  Result<graph::Cost> price(const graph::Collective& op, const topology::GroupFacts& facts,
                            const topology::GroupFacts* sound) const {
    TRY(check_op(op, facts));
    const Priced priced = facts.ranks == 1 ? Priced{op.kind, 0} : as_priced(op, facts.ranks);
    if (priced.bytes == 0)
      return graph::make_cost(kKernelFloorUs * 1e-6, 0.2, 0.5, graph::Basis::analytic, "empty kernel");
    const std::shared_ptr<const Pricer> of_group =
        sound != nullptr ? degraded(priced.kind, facts, *sound) : pricer(priced.kind, facts);
    auto cost = of_group->price(priced.bytes);
    if (!cost.ok())
      return Error{std::string(graph::name_of(op.kind)) + " of " +
                       counted(static_cast<std::uint64_t>(op.bytes), "byte") + ": " + cost.error().what,
                   "", cost.error().hint};
    cost->channels = busy_channels(of_group->model(), priced.kind, facts.ranks, priced.bytes, cost->mean);
    return cost;
  }
};

Result<std::shared_ptr<const CollectiveModels::Known>> CollectiveModels::known_of(const topology::Topology& topology,
                                                                                  const CollectiveOptions& options) {
  auto known = std::make_shared<Known>();
  TRY_ASSIGN(known->constants, constants_of(options));
  TRY_ASSIGN(known->library, load_curves(topology, options, known->constants, &known->of_files));
  TRY_ASSIGN(known->described, described_system(topology, options));
  known->loaded_for = topology.spec();
  known->options = options;
  known->compute_capability = compute_capability_of(topology);
  return std::shared_ptr<const Known>(std::move(known));
}

Result<CollectiveModels> CollectiveModels::create(const topology::Topology& topology, const CollectiveOptions& options,
                                                  const CollectiveModels* like) {
  auto impl = std::make_shared<Impl>();
  impl->mode = {options.launch == Launch::single_process, options.cuda_graph, selection_of(options)};
  if (like != nullptr && like->impl_->known->serves(topology.spec(), options, compute_capability_of(topology))) {
    impl->known = like->impl_->known;
  } else {
    TRY_ASSIGN(impl->known, known_of(topology, options));
  }
  if (options.launch_scale != 1) impl->launched = with_launch_scaled(impl->known->constants, options.launch_scale);
  if (!impl->known->library.empty() && impl->known->described)
    impl->measured = as_described(*impl->known->described, topology);
  return CollectiveModels(std::move(impl));
}

const std::vector<std::string>& CollectiveModels::remarks() const { return impl_->known->of_files; }

Result<graph::Cost> CollectiveModels::price(const graph::Collective& op, const topology::GroupFacts& facts) const {
  return impl_->price(op, facts, nullptr);
}

Result<graph::Cost> CollectiveModels::price_degraded(const graph::Collective& op, const topology::GroupFacts& facts,
                                                     const topology::GroupFacts& sound) const {
  return impl_->price(op, facts, &sound);
}

namespace {

/// The candidates by their time, the chosen one first.
std::string candidate_table(const AnalyticModel& model, double bytes) {
  std::vector<const Candidate*> order;
  for (const Candidate& c : model.candidates()) order.push_back(&c);
  std::stable_sort(order.begin(), order.end(),
                   [&](const Candidate* a, const Candidate* b) { return time_us(*a, bytes) < time_us(*b, bytes); });
  std::string out = "algorithm    protocol      time us  latency us  asymptotic GB/s  steps  limited by\n";
  for (const Candidate* c : order) {
    char line[160];
    std::snprintf(line, sizeof line, "%-12.*s %-8.*s %12.2f %11.2f %16.2f %6u  ",
                  static_cast<int>(c->algorithm->name.size()), c->algorithm->name.data(),
                  static_cast<int>(name_of(c->protocol).size()), name_of(c->protocol).data(),
                  model.with_launch(time_us(*c, bytes)), c->latency_us, c->gbps, c->steps);
    out += line + std::string(c->limit) + (c == order.front() ? "   <- chosen\n" : "\n");
  }
  return out;
}

std::string launch_line(const AnalyticModel& model) {
  if (model.launch_us() <= 0) return "";
  char line[96];
  std::snprintf(line, sizeof line, "launch floor (one process drives all GPUs of a node): %.1f us\n",
                model.launch_us());
  return line;
}

std::string price_line(const graph::Cost& cost) {
  char line[96];
  std::snprintf(line, sizeof line, "price: %.2f us (%.2f .. %.2f), ", cost.mean.us(), cost.low.us(), cost.high.us());
  return line + std::string(graph::name_of(cost.basis)) + ", " + std::string(cost.source) + "\n";
}

std::string sized(graph::CollectiveKind kind, double bytes) {
  return std::string(graph::name_of(kind)) + " of " + counted(static_cast<std::uint64_t>(bytes), "byte");
}

}  // namespace

graph::CollectiveKind kind_priced(graph::CollectiveKind kind) {
  if (kind == graph::CollectiveKind::barrier) return graph::CollectiveKind::all_reduce;
  return kind == graph::CollectiveKind::all_to_all_v ? graph::CollectiveKind::all_to_all : kind;
}

std::string CollectiveModels::explain(const graph::Collective& op, const topology::GroupFacts& facts) const {
  if (auto checked = check_op(op, facts); !checked.ok()) return checked.error().text() + "\n";
  const bool past = facts.ranks > 1 && channels_of(facts, impl_->known->constants).through_nics;
  std::string out = sized(op.kind, static_cast<double>(op.bytes)) + ", " + counted(facts.ranks, "rank") + " on " +
                    counted(facts.nodes, "node") + "; bottleneck: " + facts.bottleneck +
                    (past ? ", which NCCL goes past over the NICs\n" : "\n");
  const Priced priced = facts.ranks == 1 ? Priced{op.kind, 0} : as_priced(op, facts.ranks);
  if (priced.bytes == 0) return out + "nothing to send: priced as an empty kernel\n";
  const auto pricer = impl_->pricer(priced.kind, facts);
  const AnalyticModel& model = pricer->model();
  if (priced.bytes != static_cast<double>(op.bytes)) out += "priced as " + sized(priced.kind, priced.bytes) + "\n";
  out += counted(static_cast<std::uint64_t>(std::llround(model.channels())), "channel") +
         (pricer->notes().empty() ? "; no measured curve for this group: analytic model only" : "") + "\n";
  out += candidate_table(model, priced.bytes) + launch_line(model);
  for (const std::string& note : pricer->notes()) out += "measured: " + note + "\n";
  if (const auto cost = price(op, facts); cost.ok()) out += price_line(*cost);
  return out;
}

}  // namespace distsim::collectives
