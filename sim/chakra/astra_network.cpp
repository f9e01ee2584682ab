#include "sim/chakra/astra_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/file.hpp"
#include "base/json/json_text.hpp"
#include "base/json/parse_once.hpp"
#include "base/text/counted.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "collectives/alpha_beta.hpp"

namespace distsim::chakra {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kMostBytes = std::size_t{16} << 20;
constexpr std::int64_t kMostSplits = 4096;

class AlphaBetaCommunication : public CommunicationCost {
 public:
  AlphaBetaCommunication(topology::DimensionNetwork network, collectives::AlphaBetaOptions options)
      : network_(std::move(network)), options_(std::move(options)) {}

  Result<graph::Cost> collective(const graph::Collective& op, std::span<const std::uint32_t> members, bool) override {
    TRY_ASSIGN(const topology::DimensionNetwork group, network_.of_group(members));
    TRY_ASSIGN(const Duration d, collectives::alpha_beta_time(op, group, options_));
    return cost(d);
  }
  Result<graph::Cost> message(std::uint32_t from, std::uint32_t to, std::int64_t bytes) override {
    return cost(collectives::alpha_beta_message(bytes, network_, from, to) +
                Duration::nanoseconds(options_.endpoint_delay));
  }
  std::uint32_t ranks() const override { return network_.ranks(); }
  std::string where() const override { return "on " + network_.describe() + " (alpha-beta)"; }

 private:
  static graph::Cost cost(Duration d) {
    return {d, d, d, graph::Basis::analytic, "alpha-beta model without contention"};
  }
  topology::DimensionNetwork network_;
  collectives::AlphaBetaOptions options_;
};

/// The keys of system.json that matter.
class SystemReader {
 public:
  SystemReader(const Json& json, const std::string& file) : json_(json), file_(file) {}

  Result<void> read(const char* key, std::vector<collectives::AlphaBetaAlgorithm>& out) const {
    const auto found = json_.find(key);
    if (found == json_.end()) return {};
    if (!found->is_array() || found->empty()) return wrong(key, *found, "a list of algorithms, one per dimension");
    out.clear();
    for (const Json& name : *found) {
      if (!name.is_string()) return wrong(key, name, "the name of an algorithm");
      const auto algorithm = collectives::parse_alpha_beta_algorithm(name.get_ref<const std::string&>());
      if (!algorithm) return Error{std::string(key) + ": " + algorithm.error().what, file_, algorithm.error().hint};
      out.push_back(*algorithm);
    }
    return {};
  }

  Result<void> read(const char* key, double least, double most, double& out) const {
    const auto found = json_.find(key);
    if (found == json_.end()) return {};
    if (!found->is_number() || !(found->get<double>() >= least && found->get<double>() <= most)) {
      return wrong(key, *found, fmt::format("a number from {} to {}", least, most));
    }
    out = found->get<double>();
    return {};
  }

  /// The same of a count.
  Result<void> read(const char* key, double least, double most, std::int64_t& out) const {
    double value = static_cast<double>(out);
    TRY(read(key, least, most, value));
    if (value != std::floor(value)) return wrong(key, *json_.find(key), "a whole number");
    out = static_cast<std::int64_t>(value);
    return {};
  }

 private:
  Error wrong(const char* key, const Json& value, const std::string& expected) const {
    return {std::string(key) + ": found " + printable(json_text(value)) + ", expected " + expected, file_, ""};
  }
  const Json& json_;
  const std::string& file_;
};

constexpr const char* kSystemKeys[] = {"all-reduce-implementation",
                                       "all-gather-implementation",
                                       "reduce-scatter-implementation",
                                       "all-to-all-implementation",
                                       "preferred-dataset-splits",
                                       "active-chunks-per-dimension",
                                       "endpoint-delay",
                                       "local-mem-bw",
                                       "peak-perf"};

/// ASTRA-sim has more keys, which are left to it; one that is nearly one of ours is a slip.
Result<void> check_spelling(const Json& json, const std::string& file) {
  constexpr std::int64_t kMostLetters =
      2;  // more or fewer: ASTRA-sim's "...-implementation-custom" is a key of its own
  const std::vector<std::string> known(std::begin(kSystemKeys), std::end(kSystemKeys));
  for (const auto& [key, value] : json.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const std::string nearest = nearest_spelling(key, known);
    if (nearest.empty() || std::abs(std::ssize(key) - std::ssize(nearest)) > kMostLetters) continue;
    return Error{"found the key " + in_quotes(key, 100) + ", expected one of ASTRA-sim's", file,
                 "did you mean '" + nearest + "'?"};
  }
  return {};
}

/// What an object has twice, of which the parser takes the last.
Result<Json> parsed_once(const std::string& text, const std::string& file) {
  std::string twice;
  Json json = parse_once(text, twice);
  if (!json.is_object()) return Error{"found no JSON object, expected an ASTRA-sim system", file, ""};
  if (!twice.empty()) return Error{"found the key " + in_quotes(twice, 100) + " twice, expected it once", file, ""};
  return json;
}

struct System {
  collectives::AlphaBetaOptions options;
  double peak_flops = 0, memory_bytes = 0;
};

Result<System> read_system(const std::string& file) {
  System system;
  if (file.empty()) return system;
  TRY_ASSIGN(const std::string text, read_file(file, kMostBytes));
  TRY_ASSIGN(const Json json, parsed_once(text, file));
  TRY(check_spelling(json, file));
  const SystemReader reader(json, file);
  collectives::AlphaBetaOptions& o = system.options;
  TRY(reader.read("all-reduce-implementation", o.all_reduce));
  TRY(reader.read("all-gather-implementation", o.all_gather));
  TRY(reader.read("reduce-scatter-implementation", o.reduce_scatter));
  TRY(reader.read("all-to-all-implementation", o.all_to_all));
  std::int64_t splits = 1, active = 1, delay = 0;
  double memory = 0, peak = 0;
  TRY(reader.read("preferred-dataset-splits", 1, double(kMostSplits), splits));
  TRY(reader.read("active-chunks-per-dimension", 1, double(kMostSplits), active));
  TRY(reader.read("endpoint-delay", 0, 1e9, delay));
  TRY(reader.read("local-mem-bw", 0, 1e9, memory));
  TRY(reader.read("peak-perf", 0, 1e9, peak));
  o.splits = splits;
  o.active = active;
  o.endpoint_delay = delay;
  o.memory_bytes_per_ns = memory;  // GB/s of 10^9 are bytes a nanosecond
  system.memory_bytes = memory * 1e9;
  system.peak_flops = peak * 1e12;
  return system;
}

}  // namespace

Result<AstraNetwork> read_astra_network(const std::string& network_file, const std::string& system_file) {
  TRY_ASSIGN(topology::DimensionNetwork network, topology::read_dimension_network(network_file));
  TRY_ASSIGN(const System system, read_system(system_file));
  const collectives::AlphaBetaOptions& o = system.options;
  for (const auto* list : {&o.all_reduce, &o.all_gather, &o.reduce_scatter, &o.all_to_all})
    if (list->size() > network.dimensions.size())
      return Error{"found " + std::to_string(list->size()) +
                       " algorithms of a collective, expected at most one for each of " +
                       counted(network.dimensions.size(), "dimension"),
                   system_file, ""};
  AstraNetwork out;
  out.device.name = "as specified";
  out.device.hbm.bandwidth = BytesPerSecond(system.memory_bytes);
  if (system.peak_flops > 0) out.device.peak["fp16"] = FlopsPerSecond(system.peak_flops);
  out.costs = std::make_unique<AlphaBetaCommunication>(std::move(network), system.options);
  return out;
}

}  // namespace distsim::chakra
