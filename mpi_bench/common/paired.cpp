#include "mpi_bench/common/paired.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "mpi_bench/common/stats.hpp"

namespace distsim::bench {
namespace {

constexpr double kQuiet = 0.20;

double quiet(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return percentile(seconds, kQuiet);
}

struct Both {
  double first, second;
  double sum() const { return first + second; }
};

}  // namespace

PairedRatio paired_ratio(const std::vector<PairedBlock>& blocks) {
  CHECK(!blocks.empty());
  std::vector<Both> both;
  for (const PairedBlock& block : blocks) both.push_back({quiet(block.first), quiet(block.second)});
  std::sort(both.begin(), both.end(), [](const Both& a, const Both& b) { return a.sum() < b.sum(); });
  both.resize((both.size() + 1) / 2);
  std::vector<double> ratios, seconds;
  for (const Both& b : both) {
    ratios.push_back(b.first / b.second);
    seconds.push_back(b.second);
  }
  const Summary s = summarize(ratios);
  return {s.median, relative_error_of_median(s), summarize(seconds).median};
}

}  // namespace distsim::bench
