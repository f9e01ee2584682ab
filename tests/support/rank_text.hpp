// Kineto traces of ranks that run the same iterations, by hand.
#pragma once

#include <cctype>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kineto_text.hpp"

namespace distsim::test {

/// Iterations of 10 ms with a kernel of 1 ms and then `reduces` all-reduces, every 1 ms one. Which all-reduce it is shows in how long it
/// takes: 100 us and 1 us more from each to the next, counted over all iterations from 0.
struct RankText {
  int first = 4, last = 9, reduces = 4;
  bool marked = true;
  int number_offset = 0;  ///< of the numbers in the marks
  double clock = 0;       ///< us, added to all times
  std::string collective = "AllReduce";
  std::vector<int> group;  ///< ranks of the group that they go over; empty: all
  int sequence_from = -1;  ///< number of the first recorded all-reduce; -1: not recorded
  std::function<int(int)> elements = [](int) { return 1'000'000; };  ///< of an all-reduce, by which it is
  std::function<bool(int)> is_lost = [](int) { return false; };

  static std::string lower(std::string word) {
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return word;
  }
  std::string group_text(int world) const {
    std::string ranks;
    for (const int r : group) ranks += (ranks.empty() ? "" : ",") + std::to_string(r);
    if (ranks.empty()) return "\"Group size\":" + std::to_string(world) + ",\"Process Group Name\":\"0\"";
    return "\"Group size\":" + std::to_string(group.size()) + ",\"Process Group Name\":\"of " + ranks +
           "\",\"Process Group Ranks\":\"[" + ranks + "]\"";
  }

  std::string text(int rank, int world = 2) const {
    std::vector<std::string> events;
    int id = 0, sequence = sequence_from;
    const auto kernel = [&](const std::string& name, int stream, double start, double duration,
                            const std::string& args) {
      const std::string correlation = "\"correlation\":" + std::to_string(++id);
      events.push_back(event("cuda_runtime", "cudaLaunchKernel", "5", "10", start - 50, 5, correlation));
      events.push_back(event("kernel", name, "0", std::to_string(stream), start, duration,
                             "\"device\":0,\"stream\":" + std::to_string(stream) + "," + correlation + args));
    };
    for (int step = first; step <= last; ++step) {
      const double t = 1e6 + 1e4 * step + clock;
      if (marked)
        events.push_back(
            event("user_annotation", "ProfilerStep#" + std::to_string(step + number_offset), "5", "10", t, 1e4));
      kernel("gemm", 7, t + 100, 1000, "");
      for (int k = 0; k < reduces; ++k) {
        const int which = step * reduces + k;
        const std::string seq = sequence_from < 0 ? "" : ",\"Seq\":" + std::to_string(sequence++);
        if (is_lost(which)) continue;
        const std::string n = std::to_string(elements(which));
        kernel("ncclDevKernel_" + collective + "_Sum_f32_RING_LL(x)", 9, t + 2000 + 1000 * k, 100 + which,
               ",\"Collective name\":\"" + lower(collective) + "\",\"In msg nelems\":" + n +
                   ",\"Out msg nelems\":" + n + ",\"dtype\":\"Float\"," + group_text(world) + seq);
      }
    }
    return trace(events, "\"distributedInfo\":{\"rank\":" + std::to_string(rank) +
                             ",\"world_size\":" + std::to_string(world) + "},");
  }
};

}  // namespace distsim::test
