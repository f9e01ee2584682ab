// The command line as CLI11 read it: text, not yet checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mpi_bench/collective/options/options.hpp"

namespace distsim::bench {

struct RawFlags {
  std::string min = "32M", max = "32M", step = "1M", factor = "0", op = "sum", type = "float", root = "0",
              backend = "auto", fault, stall, load, beside, curve_time = "median";
  std::vector<std::string> collectives = {"all_reduce"}, groups = {"all"}, pair_tests;
  std::int64_t iterations = 20, warmup = 1, check = 1, report = 1, graph = 0, aggregate = 1, threads = 1, gpus = 1,
               blocking = 0, streams = 1, port = 0;
  std::optional<std::int64_t> rank;
};

/// Values checked one by one. Errors name the flag, what was found and what was expected.
Result<Options> checked_options(const RawFlags& raw, Options options);

}  // namespace distsim::bench
