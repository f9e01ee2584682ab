#include "collectives/alpha_beta.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/text/names/words.hpp"

namespace distsim::collectives {
namespace {

using Algorithm = AlphaBetaAlgorithm;
constexpr double kMostNs = 1e15;  // Duration::kMaxSeconds

/// One chunk in one dimension.
class Phase {
 public:
  Phase(const topology::NetworkDimension& dimension, const AlphaBetaOptions& options)
      : d_(dimension), o_(options), n_(dimension.count) {}

  /// Of `bytes`: what is reduced or scattered in all, or what one member gives to a gather, or sends in an all-to-all.
  Result<double> time(graph::CollectiveKind kind, Algorithm algorithm, double bytes) const {
    if (n_ < 2) return 0.0;
    const bool powers = algorithm == Algorithm::halving_doubling || algorithm == Algorithm::double_binary_tree;
    if (powers && !std::has_single_bit(n_)) {
      return Error{"network.npus_count: found " + std::to_string(n_) +
                       ", expected a power of two for halving-doubling and double binary trees",
                   "", ""};
    }
    switch (kind) {
      case graph::CollectiveKind::all_reduce:
        return all_reduce(algorithm, bytes);
      case graph::CollectiveKind::reduce_scatter:
        return reduce_scatter(algorithm, bytes);
      case graph::CollectiveKind::all_gather:
        return all_gather(algorithm, bytes);
      case graph::CollectiveKind::all_to_all:
      case graph::CollectiveKind::all_to_all_v:
        return all_to_all(algorithm, bytes);
      case graph::CollectiveKind::barrier:
        return 2 * sent(0, 1) + delays(2);
      case graph::CollectiveKind::gather:
      case graph::CollectiveKind::scatter:
        return sent(bytes * (n_ - 1) / n_, n_ / 2) + delays(1);
      default:
        return sent(bytes, n_ / 2) + delays(1);
    }
  }

  /// How long before the end of a chunk the next may begin: trees leave their first edge idle by then.
  double overlap(graph::CollectiveKind kind, Algorithm algorithm, double bytes) const {
    return kind == graph::CollectiveKind::all_reduce && algorithm == Algorithm::double_binary_tree && n_ > 1
               ? sent(bytes, 1)
               : 0;
  }

 private:
  double sent(double bytes, std::uint32_t distance) const {
    return std::floor(d_.hops(distance) * d_.latency_ns + bytes / d_.bytes_per_ns);
  }
  double reduced(double bytes) const {
    return o_.memory_bytes_per_ns > 0 ? 3 * std::floor(bytes / o_.memory_bytes_per_ns) : 0;
  }
  double delays(double steps) const { return (steps + 1) * static_cast<double>(o_.endpoint_delay); }
  std::uint32_t levels() const { return static_cast<std::uint32_t>(std::bit_width(n_) - 1); }
  /// Steps of halving: S/2, S/4, ..., with partners 1, 2, 4, ... apart.
  double halving(double bytes) const {
    double sum = 0;
    for (std::uint32_t k = 1; k <= levels(); ++k) sum += sent(bytes / std::exp2(k), 1u << (k - 1));
    return sum;
  }
  double halving_reductions(double bytes) const {
    double sum = 0;
    for (std::uint32_t k = 2; k <= levels(); ++k) sum += reduced(bytes / std::exp2(k));
    return sum;
  }
  /// All levels of an in-order binary tree, whose edges span 1, 2, 4, ... places.
  double tree(double bytes) const {
    double sum = 0;
    for (std::uint32_t k = 0; k < levels(); ++k) sum += sent(bytes, 1u << k);
    return sum;
  }

  double all_reduce(Algorithm a, double bytes) const {
    const double m = bytes / n_, steps = n_ - 1;
    switch (a) {
      case Algorithm::ring:
        return 2 * steps * sent(m, 1) + steps * reduced(m) + delays(2 * steps);
      case Algorithm::direct:
        return 2 * sent(m, n_ / 2) + reduced(m) + delays(2);
      case Algorithm::halving_doubling:
        return 2 * halving(bytes) + halving_reductions(bytes) + delays(2 * levels());
      case Algorithm::double_binary_tree:
        return 2 * tree(bytes) + (2 * levels() - 1) * reduced(bytes) + delays(2 * levels());
    }
    return 0;
  }
  double reduce_scatter(Algorithm a, double bytes) const {
    const double m = bytes / n_, steps = n_ - 1;
    if (a == Algorithm::direct) return sent(m, n_ / 2) + reduced(m) + delays(1);
    if (a == Algorithm::halving_doubling) return halving(bytes) + halving_reductions(bytes) + delays(levels());
    return steps * (sent(m, 1) + reduced(m)) + delays(steps);
  }
  /// `bytes` is one member's part.
  double all_gather(Algorithm a, double bytes) const {
    const double steps = n_ - 1;
    if (a == Algorithm::direct) return sent(bytes, n_ / 2) + delays(1);
    if (a == Algorithm::halving_doubling) return halving(bytes * n_) + delays(levels());
    return steps * sent(bytes, 1) + delays(steps);
  }
  double all_to_all(Algorithm a, double bytes) const {
    const double m = bytes / n_;
    if (a == Algorithm::ring) return 0.5 * n_ * (n_ - 1.0) * (sent(m, 1) + static_cast<double>(o_.endpoint_delay));
    return sent(m, n_ / 2) + delays(1);
  }

  const topology::NetworkDimension& d_;
  const AlphaBetaOptions& o_;
  std::uint32_t n_;
};

/// What a chunk does next: in which dimension, for how long.
struct Stage {
  std::size_t dimension = 0;
  double ns = 0, overlap = 0;
};

Algorithm of(const std::vector<Algorithm>& by_dimension, std::size_t d) {
  return by_dimension[std::min(d, by_dimension.size() - 1)];
}

class Stages {
 public:
  Stages(const topology::DimensionNetwork& network, const AlphaBetaOptions& options, bool of_all_reduce)
      : network_(network), options_(options), of_all_reduce_(of_all_reduce) {}

  Result<void> add(graph::CollectiveKind kind, std::size_t d, double bytes) {
    const Algorithm a = algorithm(kind, d);
    const Phase phase(network_.dimensions[d], options_);
    TRY_ASSIGN(const double ns, phase.time(kind, a, bytes));
    stages_.push_back({d, ns, phase.overlap(kind, a, bytes)});
    return {};
  }

  Result<void> add_collective(graph::CollectiveKind kind, double chunk) {
    const std::size_t dims = network_.dimensions.size();
    std::vector<double> before{chunk};  // bytes of a chunk before each dimension has scattered it
    for (const topology::NetworkDimension& d : network_.dimensions) before.push_back(before.back() / d.count);
    switch (kind) {
      case graph::CollectiveKind::all_reduce:
        for (std::size_t d = 0; d + 1 < dims; ++d) TRY(add(graph::CollectiveKind::reduce_scatter, d, before[d]));
        TRY(add(graph::CollectiveKind::all_reduce, dims - 1, before[dims - 1]));
        for (std::size_t d = dims - 1; d-- > 0;) TRY(add(graph::CollectiveKind::all_gather, d, before[d + 1]));
        return {};
      case graph::CollectiveKind::reduce_scatter:
        for (std::size_t d = 0; d < dims; ++d) TRY(add(kind, d, before[d]));
        return {};
      case graph::CollectiveKind::all_gather:  // `chunk` is all that is gathered
        for (std::size_t d = dims; d-- > 0;) TRY(add(kind, d, before[d + 1]));
        return {};
      default:
        for (std::size_t d = 0; d < dims; ++d) TRY(add(kind, d, chunk));
        return {};
    }
  }

  /// Chunks in order; each dimension serves `active` at once, those that are ready first.
  double makespan() const {
    std::vector<std::vector<double>> free(network_.dimensions.size(),
                                          std::vector<double>(static_cast<std::size_t>(options_.active), 0));
    std::vector<std::size_t> next(static_cast<std::size_t>(options_.splits), 0);
    std::vector<double> ready(next.size(), 0);
    double end = 0;
    for (std::size_t left = next.size() * stages_.size(); left > 0; --left) {
      std::size_t chunk = next.size();
      for (std::size_t c = 0; c < next.size(); ++c) {
        if (next[c] < stages_.size() && (chunk == next.size() || ready[c] < ready[chunk])) chunk = c;
      }
      const Stage& stage = stages_[next[chunk]++];
      auto server = std::min_element(free[stage.dimension].begin(), free[stage.dimension].end());
      ready[chunk] = std::max(ready[chunk], *server) + stage.ns;
      *server = ready[chunk] - stage.overlap;
      end = std::max(end, ready[chunk]);
    }
    return end;
  }

 private:
  Algorithm algorithm(graph::CollectiveKind kind, std::size_t d) const {
    if (kind == graph::CollectiveKind::all_reduce) return of(options_.all_reduce, d);
    if (kind == graph::CollectiveKind::reduce_scatter)
      return of(of_all_reduce_ ? options_.all_reduce : options_.reduce_scatter, d);
    if (kind == graph::CollectiveKind::all_gather)
      return of(of_all_reduce_ ? options_.all_reduce : options_.all_gather, d);
    return of(options_.all_to_all, d);
  }

  const topology::DimensionNetwork& network_;
  const AlphaBetaOptions& options_;
  bool of_all_reduce_;  ///< its scattering and gathering go by its own algorithms
  std::vector<Stage> stages_;
};

}  // namespace

Result<AlphaBetaAlgorithm> parse_alpha_beta_algorithm(std::string_view name) {
  std::string word(name);
  if (word.starts_with("one") && word.size() > 3) word = word.substr(3), word[0] = static_cast<char>(word[0] | 0x20);
  if (word.starts_with("direct")) word.resize(6);  // "direct8": a window, without effect where nothing is in the way
  static const Words<AlphaBetaAlgorithm> words{{"ring", AlphaBetaAlgorithm::ring},
                                               {"direct", AlphaBetaAlgorithm::direct},
                                               {"halvingDoubling", AlphaBetaAlgorithm::halving_doubling},
                                               {"doubleBinaryTree", AlphaBetaAlgorithm::double_binary_tree}};
  return read_word("algorithm", word, words);
}

Result<Duration> alpha_beta_time(const graph::Collective& op, const topology::DimensionNetwork& network,
                                 const AlphaBetaOptions& options) {
  if (network.dimensions.empty()) return Duration();
  CHECK(options.splits >= 1 && options.active >= 1);
  if (op.bytes < 0) return Error{"bytes: found " + std::to_string(op.bytes) + ", expected a non-negative size", "", ""};
  Stages stages(network, options, op.kind == graph::CollectiveKind::all_reduce);
  TRY(stages.add_collective(op.kind, static_cast<double>(op.bytes) / static_cast<double>(options.splits)));
  const double ns = stages.makespan();
  if (!(ns < kMostNs)) return Error{"found a collective of more than 10^6 s, expected less", "", ""};
  return Duration::from_seconds(ns * 1e-9);
}

Duration alpha_beta_message(std::int64_t bytes, const topology::DimensionNetwork& network, std::uint32_t from,
                            std::uint32_t to) {
  const auto a = network.place_of(from), b = network.place_of(to);
  double ns = 0, slowest = 0;
  for (std::size_t d = 0; d < a.size(); ++d) {
    if (a[d] == b[d]) continue;
    const topology::NetworkDimension& dimension = network.dimensions[d];
    ns += dimension.hops(a[d] > b[d] ? a[d] - b[d] : b[d] - a[d]) * dimension.latency_ns;
    slowest = slowest == 0 ? dimension.bytes_per_ns : std::min(slowest, dimension.bytes_per_ns);
  }
  if (slowest > 0) ns += static_cast<double>(bytes) / slowest;
  return *Duration::from_seconds(std::min(std::floor(ns), kMostNs) * 1e-9);
}

}  // namespace distsim::collectives
