#include "traces/ranks/size_alignment.hpp"

#include <algorithm>
#include <cstddef>

namespace distsim::traces {
namespace {

bool may_be_one(std::int64_t a, std::int64_t b) { return a < 0 || b < 0 || a == b; }

/// Longest common orders of all beginnings and of all ends.
class CommonOrders {
 public:
  CommonOrders(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b)
      : a_(a), b_(b), width_(b.size() + 1), begins_((a.size() + 1) * width_), ends_((a.size() + 1) * width_) {
    for (std::size_t i = 1; i <= a.size(); ++i) {
      for (std::size_t j = 1; j <= b.size(); ++j) {
        const std::uint32_t both = may_be_one(a[i - 1], b[j - 1]) ? begin(i - 1, j - 1) + 1 : 0;
        begins_[i * width_ + j] = std::max({both, begin(i - 1, j), begin(i, j - 1)});
      }
    }
    for (std::size_t i = a.size(); i-- > 0;) {
      for (std::size_t j = b.size(); j-- > 0;) {
        const std::uint32_t both = may_be_one(a[i], b[j]) ? end(i + 1, j + 1) + 1 : 0;
        ends_[i * width_ + j] = std::max({both, end(i + 1, j), end(i, j + 1)});
      }
    }
  }

  /// Whether a longest order joins the two.
  bool joins(std::size_t i, std::size_t j) const {
    return may_be_one(a_[i], b_[j]) && begin(i, j) + 1 + end(i + 1, j + 1) == longest();
  }
  /// Whether a longest order goes without element `j` of b.
  bool skips(std::size_t j) const {
    for (std::size_t i = 0; i <= a_.size(); ++i) {
      if (begin(i, j) + end(i, j + 1) == longest()) return true;
    }
    return false;
  }

 private:
  std::uint32_t begin(std::size_t i, std::size_t j) const { return begins_[i * width_ + j]; }
  std::uint32_t end(std::size_t i, std::size_t j) const { return ends_[i * width_ + j]; }
  std::uint32_t longest() const { return ends_.front(); }

  const std::vector<std::int64_t>&a_, &b_;
  std::size_t width_;
  std::vector<std::uint32_t> begins_, ends_;
};

}  // namespace

std::vector<std::uint32_t> certain_alignment(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  const CommonOrders orders(a, b);
  std::vector<std::uint32_t> out(b.size(), kUnaligned);
  for (std::size_t j = 0; j < b.size(); ++j) {
    std::size_t partners = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!orders.joins(i, j)) continue;
      out[j] = static_cast<std::uint32_t>(i);
      ++partners;
    }
    if (partners != 1 || orders.skips(j)) out[j] = kUnaligned;
  }
  return out;
}

}  // namespace distsim::traces
