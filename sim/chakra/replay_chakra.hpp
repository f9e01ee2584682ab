// `distsim replay` for Chakra traces: finds and reads the files of a job, plays them on a system, and writes what came
// out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/config/variants.hpp"

namespace CLI {
class App;
}

namespace distsim::chakra {

struct ChakraReplay {
  std::vector<std::string> traces;
  std::string config;                            ///< experiment whose cluster and device the job runs on
  std::shared_ptr<config::Variants> experiment;  ///< in place of it
  std::vector<std::string> sets, curves;
  std::string network,
      network_system;  ///< instead of `config`: network and system as ASTRA-sim describes them (docs/engine.md)
  std::string groups;  ///< communicators as JSON
  std::string csv, json;
  std::uint32_t ranks = 1;  ///< a single trace is replicated to that many ranks
  bool recorded_collectives = false;
  double compute_scale = 1;
};

/// True where the words name Chakra traces: by the head of the first file.
bool names_chakra(const std::vector<std::string>& words);

/// The flags that other traces do not have: --network, --network-system, --groups, --ranks, --recorded-collectives,
/// --compute-scale.
void add_chakra_flags(CLI::App& command, ChakraReplay& replay);

Result<void> replay_chakra(const ChakraReplay& replay);

/// What replay_chakra() writes and prints, for programs: the names of outputs in `replay` are not looked at.
struct ChakraTexts {
  std::string json, csv, text;
};
Result<ChakraTexts> replayed_texts(ChakraReplay replay);

}  // namespace distsim::chakra
