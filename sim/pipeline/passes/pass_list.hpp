// The passes of a prediction, in their order. Adding one: its file, an entry here, its call in pipeline.cpp. The
// choices of --dump-after, the rows of --timings and the table in docs/architecture.md follow; a dump, an invariant
// check and a golden are found by the type of the pass's result (dump.hpp, verify.hpp, tests/golden).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace distsim::pipeline {

struct PassInfo {
  std::string_view name;
  std::string_view result;    ///< the type that it returns
  std::string_view sentence;  ///< what it does, for help and docs
};

inline constexpr auto kPasses = std::to_array<PassInfo>({
    {"parse", "ConfigNode", "read the YAML file, with limits on size and depth, and apply --set"},
    {"resolve", "Experiment", "look up names, fill in defaults, check every key for type, unit and range"},
    {"build_topology", "CostModels", "lay out devices, links, NICs and switches, and load the cost models for them"},
    {"build_workload", "Workload", "turn model and parallelism into ops and collectives: shapes and bytes, no times"},
    {"price", "CostedGraph", "give each op and collective a mean, a range, a basis and a source"},
    {"scale", "CostedGraph", "apply the fitted factors of the framework and the device to kernel times"},
    {"lower", "Lowered", "turn tasks into steps on streams, with host launches, for three iterations or more"},
    {"contend", "Lowered", "slow what runs on slow GPUs, slow NICs and shared links"},
    {"interfere", "Lowered", "slow kernels beside collectives"},
    {"simulate", "Timeline", "find when each step is ready, starts and ends on each rank"},
    {"analyse", "Report", "find iteration time, range, breakdown, critical cycle and exposed communication"},
    {"fold", "Report", "extend the report to the micro-steps that were not simulated"},
    {"write", "files", "write text, JSON, CSV, HTML, timeline and traces, each file atomically"},
});

/// The only pass without a result to dump: it writes results.
inline constexpr std::string_view kWritePass = "write";

constexpr std::size_t pass_index(std::string_view name) {
  return static_cast<std::size_t>(
      std::find_if(kPasses.begin(), kPasses.end(), [&](const PassInfo& p) { return p.name == name; }) -
      kPasses.begin());
}

/// A name of kPasses; any other does not compile.
class PassName {
 public:
  consteval PassName(const char* name) : index_(pass_index(name)) {
    if (index_ == kPasses.size()) throw "not in kPasses";
  }
  constexpr std::size_t index() const { return index_; }
  constexpr std::string_view text() const { return kPasses[index_].name; }

 private:
  std::size_t index_;
};

namespace detail {

constexpr bool is_snake_case(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}
constexpr bool well_formed(const PassInfo& p) {
  return is_snake_case(p.name) && !p.result.empty() && !p.sentence.empty() && !p.sentence.ends_with('.') &&
         p.sentence.find('|') == std::string_view::npos;  // cells of a table
}
constexpr bool each_once() {
  for (std::size_t i = 0; i < kPasses.size(); ++i) {
    if (pass_index(kPasses[i].name) != i) return false;
  }
  return true;
}

}  // namespace detail

static_assert(std::all_of(kPasses.begin(), kPasses.end(), detail::well_formed),
              "a pass has a name in snake_case, a result, and one sentence without a full stop");
static_assert(detail::each_once(), "two passes have the same name");
static_assert(kPasses.back().name == kWritePass, "results are written last");

/// What --dump-after understands.
std::vector<std::string> dumpable_passes();

/// The table in docs/architecture.md.
std::string passes_as_markdown();

}  // namespace distsim::pipeline
