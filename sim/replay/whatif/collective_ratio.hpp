// Collectives of a trace on another system, or with more ranks. All ranks are assumed to send alike.
//
//   group  One that spans the job spans the new job (data parallel, embedding exchange); a smaller one keeps its size,
//          and its ranks where they exist. Ranks that are not listed are those whose traces have a collective of the
//          group; where these are too few, neighbours join them (guessed_groups).
//   beside The other groups of its kind run at the same time and share the adapters: where all ranks were read, those of
//          other ranks that cross nodes, too, and have members at the same adapters; else all GPUs, as in predictions.
//   bytes  Each rank's part stays: of all-reduce, broadcast and reduce the buffer; of all-to-all what a rank sends; of
//          all-gather and reduce-scatter the total (sharded parameters). `batch_scale` grows what depends on samples:
//          all-to-all, send/recv.
//   time   Where the system of the trace is known (basis: scaled): of a collective whose ranks were all seen, the measured
//          transfer x the ratio of the predictions; of one seen on one rank, the prediction for the new system plus what
//          the measured time exceeds the prediction for the old one by, which is waiting for the other ranks. A size
//          that was not recorded is taken to be the one for which the models predict the measured time; the measured time
//          is kept where no size takes it, and where neither the trace nor its collective says how many ranks there were.
//          Where the system is not known: the prediction for the new system itself if the size is known, else the measured
//          time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/collective_models.hpp"
#include "sim/replay/build/replay_graph.hpp"
#include "topology/topology.hpp"

namespace distsim::replay {

/// A cluster as far as its collectives go. Both must outlive what uses this.
struct ReplayNetwork {
  const topology::Topology* topology = nullptr;
  const collectives::CollectiveModels* models = nullptr;
};

class CollectiveRatio {
 public:
  struct Jobs {
    std::uint32_t from_ranks = 1, to_ranks = 1;
    double batch_scale = 1;
  };

  /// `from` may be empty: not known.
  CollectiveRatio(const traces::TraceJob& job, ReplayNetwork from, ReplayNetwork to, Jobs jobs);

  /// Picoseconds on the new system of a collective that took `ps`. `joined`: its other ranks were seen, so that `ps`
  /// holds no waiting.
  Result<std::int64_t> scaled(const traces::TraceCollective& collective, std::int64_t ps, bool joined);

  std::uint64_t by_ratio() const { return by_ratio_; }
  std::uint64_t by_prediction() const { return by_prediction_; }
  std::uint64_t inferred() const { return inferred_; }  ///< sizes taken from the measured time
  std::uint64_t kept() const { return kept_; }
  /// Kept as measured as well: one rank was read, and nothing says how many there were; or no size takes the measured time.
  std::uint64_t of_unknown_ranks() const { return of_unknown_ranks_; }
  std::uint64_t of_no_size() const { return of_no_size_; }
  /// Those whose members are not known and were taken as neighbours.
  std::uint64_t guessed_groups() const { return guessed_.size(); }

 private:
  using Members = std::vector<std::uint32_t>;
  /// Who communicates at the same time: see Topology::facts.
  struct Company {
    topology::Siblings siblings = topology::Siblings::idle;
    Members busy;
  };
  Members known_members(const traces::TraceCollective& c) const;
  Members placed(const Members& known, std::size_t size, std::uint32_t most) const;
  Members members(const traces::TraceCollective& c, std::uint32_t world, const ReplayNetwork& network);
  Company company(const ReplayNetwork& network, const traces::TraceCollective& c, const Members& members);
  Company company_of(const ReplayNetwork& network, const traces::TraceCollective& c, const Members& members) const;
  Result<std::int64_t> price(const ReplayNetwork& network, const traces::TraceCollective& c, std::int64_t bytes,
                             const Members& members);
  Result<std::optional<std::int64_t>> bytes_for(const traces::TraceCollective& c, std::int64_t ps,
                                                const Members& members);
  bool is_of_unknown_ranks(const traces::TraceCollective& c) const;

  const traces::TraceJob& job_;
  const ReplayNetwork from_, to_;
  const Jobs jobs_;
  std::map<graph::CollectiveKind, std::set<std::uint32_t>> groups_of_;
  std::vector<Members> ranks_of_;  ///< by group, ascending: listed, else read; fewer than its size: not known
  std::set<std::uint32_t> guessed_;
  std::map<std::tuple<const topology::Topology*, graph::CollectiveKind, std::uint32_t>, Company> company_;
  std::map<std::string, std::int64_t> known_;
  std::uint64_t by_ratio_ = 0, by_prediction_ = 0, inferred_ = 0, kept_ = 0, of_unknown_ranks_ = 0, of_no_size_ = 0;
};

}  // namespace distsim::replay
