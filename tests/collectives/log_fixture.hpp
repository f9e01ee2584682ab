// Logs as text, read as curves import reads a file.
#pragma once

#include <string>

#include "collective_fixture.hpp"
#include "collectives/curves/curve_set.hpp"

namespace distsim::collectives {

inline Result<CurveSet> read(const std::string& name, const std::string& text, const LogHints& hints = {}) {
  return read_curve_file(file_with(name, text), hints);
}

inline void expect_error(const Result<CurveSet>& r, const std::string& part) {
  ASSERT_FALSE(r.ok()) << "expected: " << part;
  EXPECT_NE(r.error().text().find(part), std::string::npos) << r.error().text();
  EXPECT_EQ(r.error().text().find('\n'), std::string::npos) << "one line";
}

/// A log of OSU, with the range of each time.
inline const char* const kOsu =
    "# nodes: 2  ranks: 16\n#\n# OSU MPI-CUDA Allreduce Latency Test v5.7\n"
    "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
    "4                      34.31             33.27             35.07        1000\n"
    "1048576               150.00            140.00            170.00         100\n";

}  // namespace distsim::collectives
