#include "mpi_bench/collective/ranks/ranks.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/check.hpp"
#include "mpi_bench/common/pulse.hpp"

namespace distsim::bench {
namespace {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::vector<T> values_of(const std::string& bytes) {
  CHECK(bytes.size() % sizeof(T) == 0);
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace

void Ranks::meet(const std::string& host_name) {
  hosts_ = gather(host_name);
  node_of_.clear();
  std::map<std::string, int> seen;
  for (const std::string& host : hosts_)
    node_of_.push_back(seen.emplace(host, static_cast<int>(seen.size())).first->second);
  nodes_ = static_cast<int>(seen.size());
  local_size_ = static_cast<int>(std::count(node_of_.begin(), node_of_.end(), node_of_[rank_]));
  local_rank_ = static_cast<int>(std::count(node_of_.begin(), node_of_.begin() + rank_, node_of_[rank_]));
}

std::vector<double> Ranks::max(const std::vector<double>& values) const {
  std::vector<double> result = values;
  for (const std::string& bytes : gather(bytes_of(values))) {
    const auto theirs = values_of<double>(bytes);
    CHECK(theirs.size() == result.size());
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::max(result[i], theirs[i]);
  }
  return result;
}

std::uint64_t Ranks::sum(std::uint64_t value) const {
  std::uint64_t total = 0;
  for (const std::string& bytes : gather(bytes_of(std::vector{value}))) total += values_of<std::uint64_t>(bytes).at(0);
  return total;
}

bool Ranks::any(bool value) const { return sum(value ? 1 : 0) != 0; }

std::string Ranks::from_root(const std::string& text) const { return gather(rank_ == 0 ? text : "").front(); }

Result<void> Ranks::agree(const Result<void>& mine) const {
  const auto errors = gather(mine.ok() ? "" : mine.error().text());
  for (int r = 0; r < size_; ++r) {
    if (errors[r].empty()) continue;
    return Error{(size_ == 1 ? "" : "rank " + std::to_string(r) + ": ") + errors[r], "", ""};
  }
  return {};
}

void Ranks::abort(const std::string& why) const {
  std::fprintf(stderr, "collective_bench: rank %d on %s: %s\n", rank_, host().c_str(), why.c_str());
  std::fflush(nullptr);
  end_job();
  std::abort();
}

}  // namespace distsim::bench
