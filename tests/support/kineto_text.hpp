// Small Kineto traces by hand.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "test_paths.hpp"

namespace distsim::test {

/// An "X" event; times in microseconds; `args` without its braces.
inline std::string event(const std::string& category, const std::string& name, const std::string& process,
                         const std::string& thread, double start, double duration, const std::string& args = "") {
  const auto number = [](double v) {
    std::string s = std::to_string(v);
    return s;
  };
  return "{\"ph\":\"X\",\"cat\":\"" + category + "\",\"name\":\"" + name + "\",\"pid\":" + process +
         ",\"tid\":" + thread + ",\"ts\":" + number(start) + ",\"dur\":" + number(duration) + ",\"args\":{" + args +
         "}}";
}

inline std::string joined(const std::vector<std::string>& events) {
  std::string out;
  for (const std::string& e : events) out += (out.empty() ? "" : ",\n") + e;
  return out;
}

/// The wrapper of today's files.
inline std::string trace(const std::vector<std::string>& events, const std::string& before = "",
                         const std::string& after = "") {
  return "{\"schemaVersion\":1," + before + "\"traceEvents\":[\n" + joined(events) + "\n]" + after + "}";
}

/// Steps 1 and 2 of 100 us each on thread 10; in each an op `aten::mm` launches one kernel of 40 us on stream 7, 20 us
/// after the step began, and another op all-reduces 10 us on stream 9, half of it behind the kernel.
inline std::vector<std::string> two_steps() {
  std::vector<std::string> out;
  for (int i = 0; i < 2; ++i) {
    const double t = 1000 + 100 * i;
    const std::string mm = std::to_string(11 + i), coll = std::to_string(21 + i);
    out.push_back(event("user_annotation", "ProfilerStep#" + std::to_string(i + 1), "5", "10", t, 100));
    out.push_back(
        event("cpu_op", "aten::mm", "5", "10", t + 5, 20,
              "\"External id\":" + mm + ",\"Input Dims\":[[64,32],[32,16]],\"Input type\":[\"float\",\"float\"]"));
    out.push_back(event("cuda_runtime", "cudaLaunchKernel", "5", "10", t + 10, 4, "\"correlation\":" + mm));
    out.push_back(event("kernel", "gemm", "0", "7", t + 20, 40,
                        "\"device\":0,\"stream\":7,\"correlation\":" + mm + ",\"grid\":[4,1,1],\"block\":[128,1,1]"));
    out.push_back(event("user_annotation", "nccl:all_reduce", "5", "10", t + 30, 20,
                        "\"Input Dims\":[[256]],\"Input type\":[\"float\"]"));
    out.push_back(event("cuda_runtime", "cudaLaunchKernel", "5", "10", t + 35, 4, "\"correlation\":" + coll));
    out.push_back(event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", "0", "9", t + 55, 10,
                        "\"device\":0,\"stream\":9,\"correlation\":" + coll));
  }
  return out;
}

inline std::string write(const std::string& folder, const std::string& name, const std::string& bytes) {
  const std::string path = folder + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

}  // namespace distsim::test
