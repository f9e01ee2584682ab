// Logs that were damaged on their way: lines joined, rows cut, bits flipped, two formats in one. A reader refuses them, says
// what it has noticed, or still has every row.
#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <vector>

#include "collectives/logs/log_readers.hpp"
#include "log_fixture.hpp"

namespace distsim::collectives {
namespace {

const char* const kOsuWide =
    "# nodes: 2  ranks: 16\n#\n# OSU MPI-CUDA Allreduce Latency Test v5.7\n"
    "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
    "4                      34.31             33.27             35.07        1000\n"
    "8                      34.10             33.04             34.94        1000\n"
    "16                     34.25             33.36             35.23        1000\n"
    "1048576              1227.13           1202.73           1251.94         100\n"
    "2097152              2179.22           2119.77           2242.89         100\n";
const char* const kOsuVerdicts =
    "# nodes: 2  ranks: 8\n# OSU MPI-CUDA All-to-All Personalized Exchange Latency Test v7.5\n# Datatype: MPI_CHAR.\n"
    "# Size       Avg Latency(us)        Validation\n"
    "1                     16.51              Pass\n2                     16.63              Pass\n"
    "1024                  22.26              Pass\n65536                 70.14              Pass\n";
const char* const kParamHeader =
    "world_size: 8\nlocal_size: 8\n"
    "\tCOMMS-RES total-size (B) nElementsPerRank Latency(us):p50 p75 p95 Min Max AlgBW(GB/s) BusBW(GB/s)\n"
    "\tCOMMS-RES-all_reduce-float32 1024 256 20.0 21.0 22.0 19.0 25.0 0.051 0.090\n"
    "\tCOMMS-RES-all_reduce-float32 2048 512 20.0 21.0 22.0 19.0 25.0 0.102 0.179\n"
    "\tCOMMS-RES-all_reduce-float32 1048576 262144 25.2 26.2 27.2 24.2 30.2 41.539 72.694\n";
const char* const kJsonRows =
    R"({"test": "all_reduce_perf", "devices": [{"rank": 0}, {"rank": 1}], "results": [
{"size": 1024, "count": 256, "type": "float", "out_of_place": {"time": 25.0, "alg_bw": 0.04, "bus_bw": 0.04}},
{"size": 2048, "count": 512, "type": "float", "out_of_place": {"time": 25.1, "alg_bw": 0.08, "bus_bw": 0.08}}]})";

std::string file_of_tests(const std::string& name) {
  const auto text = read_file(test::root() + "/tests/" + name, 1 << 20);
  EXPECT_TRUE(text.ok()) << name;
  return text.ok() ? *text : "";
}

using Reader = Result<CurveSet> (*)(LineSource&, const LogHints&);

struct Log {
  std::string name, text;
  Reader reader = nullptr;  ///< nothing: JSON
};

/// In memory: the laws ask for thousands.
Result<CurveSet> read_text(const Log& log, const std::string& text) {
  if (log.reader == nullptr) return parse_json_log(text, log.name);
  std::istringstream in(text);
  LineSource lines(in, log.name);
  return log.reader(lines, {});
}

std::vector<Log> logs() {
  return {{"wide.txt", kOsuWide, parse_osu},
          {"verdicts.txt", kOsuVerdicts, parse_osu},
          {"osu.txt", file_of_tests("fuzz/corpus/curves/osu.txt"), parse_osu},
          {"param_header.txt", kParamHeader, parse_param},
          {"param.txt", file_of_tests("fuzz/corpus/curves/param.txt"), parse_param},
          {"results.json", kJsonRows},
          {"all_gather.txt", file_of_tests("data/collectives/h100_1n8g_all_gather_simumax.txt"), parse_nccl_tests},
          {"all_reduce.txt", file_of_tests("data/collectives/gb200_2n8g_all_reduce_oke.txt"), parse_nccl_tests}};
}

std::size_t rows_in(const CurveSet& set) {
  std::size_t rows = 0;
  for (const Curve& c : set.curves) rows += c.points.size() + c.flagged;
  return rows;
}

/// Refused, noted, or as many rows as before.
class Law {
 public:
  explicit Law(const Log& log) : log_(log) {
    const auto whole = read_text(log, log.text);
    EXPECT_TRUE(whole.ok()) << whole.error().text();
    if (whole.ok()) rows_ = rows_in(*whole), remarks_ = whole->remarks.size();
  }
  void holds_of(const std::string& damaged) const {
    const auto set = read_text(log_, damaged);
    if (!set.ok() || set->remarks.size() > remarks_) return;
    EXPECT_EQ(rows_in(*set), rows_) << log_.name << ":\n" << damaged;
  }

 private:
  Log log_;
  std::size_t rows_ = 0, remarks_ = 0;
};

bool is_row(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first != line.npos &&
         ((line[first] >= '0' && line[first] <= '9') || line.substr(first).starts_with("COMMS-RES-"));
}

TEST(DamagedLogs, JoinedLinesLoseNoRow) {
  for (const Log& log : logs()) {
    const Law law(log);
    for (std::size_t at = log.text.find('\n'); at != log.text.npos; at = log.text.find('\n', at + 1)) {
      for (const char* between : {"", " ", "*", "J", "\v", "\x8A"})
        law.holds_of(log.text.substr(0, at) + between + log.text.substr(at + 1));
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(DamagedLogs, CutRowsAreMissed) {
  for (const Log& log : logs()) {
    const Law law(log);
    for (std::size_t begin = 0; begin < log.text.size();) {
      const std::size_t end = std::min(log.text.find('\n', begin), log.text.size());
      const std::string line = log.text.substr(begin, end - begin), rest = log.text.substr(end);
      for (std::size_t cut = 1; is_row(line) && cut < line.size(); cut += 3) {
        const bool blank = line.find_first_not_of(" \t") >= cut;
        law.holds_of(log.text.substr(0, begin) + line.substr(cut) + rest);
        if (!blank) law.holds_of(log.text.substr(0, begin) + line.substr(0, cut) + rest);
      }
      if (testing::Test::HasFailure()) return;
      begin = end + 1;
    }
  }
}

TEST(DamagedLogs, FlippedBitsLoseNoRow) {
  constexpr int kFlips = 600;  // of each log
  std::mt19937 random(2026);
  for (const Log& log : logs()) {
    const Law law(log);
    for (int i = 0; i < kFlips; ++i) {
      std::string damaged = log.text;
      damaged[random() % damaged.size()] ^= static_cast<char>(1U << (random() % 8));
      law.holds_of(damaged);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(DamagedLogs, ASecondFormatInALogIsRefused) {
  const std::vector<Log> all = logs();
  for (const std::size_t first : {0u, 3u, 5u, 6u}) {
    for (const std::size_t second : {0u, 3u, 5u, 6u}) {
      if (first == second) continue;
      const auto both = read("both_2n16r_" + all[first].name, all[first].text + "\n" + all[second].text);
      EXPECT_FALSE(both.ok()) << all[first].name << " and " << all[second].name;
    }
  }
  const std::string osu = kOsuWide, table = all[6].text.substr(all[6].text.find("#       size"));
  expect_error(read("both_2n16r.txt", all[6].text + osu.substr(osu.find("# OSU"))),
               "found a line of OSU, expected only those of nccl-tests");
  expect_error(read("both_2n16r.txt", osu + table), "found a line of nccl-tests, expected only those of OSU");
}

TEST(DamagedLogs, TheHeaderTellsTheFieldsOfARow) {
  const std::string text = kOsuWide;
  std::string joined = text;
  joined.replace(joined.find("1000\n8"), 6, "1000 8");
  expect_error(read("joined.txt", joined), "joined.txt:5: found a row of 10 fields, expected 5, those of its header");
  std::string first = text;
  first.replace(first.find("\n4  "), 3, "\nt ");
  expect_error(read("first.txt", first), "first.txt:5: found the row 't ");
  std::string verdict = kOsuVerdicts;
  verdict.replace(verdict.find("1024                  22.26              "), 41, "");
  expect_error(read("verdict.txt", verdict), "verdict.txt:7: found the row 'Pass'");
  expect_error(read("more.txt", std::string(kOsuVerdicts) + "131072   70\n"), "found a row of 2 fields, expected 3");
}

TEST(DamagedLogs, ASizeOfNothingIsARowThatIsMissed) {
  std::string zero = kOsuWide;
  zero.replace(zero.find("\n8  "), 4, "\n0  ");
  expect_error(read("zero.txt", zero), "zero.txt:6: size: found 0");
  std::string json = kJsonRows;
  json.replace(json.find("2048"), 4, "0");
  expect_error(read("zero.json", json), "results[1]: size: found 0");
}

TEST(DamagedLogs, AMarkWithoutACollectiveIsNoHeader) {
  std::string text = kParamHeader;
  text.replace(text.find("RES-all_reduce-float32 1048576"), 4, "RES ");
  expect_error(read("blank.txt", text), "blank.txt:6: found the row 'COMMS-RES all_reduce");
}

}  // namespace
}  // namespace distsim::collectives
