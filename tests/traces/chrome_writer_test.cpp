// The writer's files, read back.
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/json/json.hpp"
#include "peak_memory.hpp"
#include "test_paths.hpp"
#include "traces/files/json_text.hpp"
#include "traces/timeline/chrome_writer.hpp"
#include "traces/timeline/timeline_writer.hpp"

namespace distsim::traces {
namespace {

using Json = nlohmann::json;

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// Inflates a whole gzip file with zlib's own reader.
std::string gunzipped(const std::string& path) {
  std::string out;
  gzFile file = gzopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr);
  char chunk[4096];
  for (int n = gzread(file, chunk, sizeof chunk); n > 0; n = gzread(file, chunk, sizeof chunk))
    out.append(chunk, static_cast<std::size_t>(n));
  EXPECT_EQ(gzclose(file), Z_OK);
  return out;
}

/// Two ranks, two threads each; a flow joins their transfers.
SliceSource two_ranks() {
  SliceSource source;
  source.tracks = {
      {0, 1, "rank 0", "compute"}, {0, 2, "rank 0", "comm"}, {1, 1, "rank 1", "compute"}, {1, 2, "rank 1", "comm"}};
  source.for_each = [](const std::function<void(const Slice&)>& sink) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      sink({.track = 2 * rank,
            .name = "gemm",
            .category = "forward",
            .start_ps = 0,
            .duration_ps = 1'500'001,
            .args = {{"op", "gemm 1x2x3"}}});
      sink({.track = 2 * rank + 1,
            .name = "all_reduce",
            .category = "gradient_sync",
            .start_ps = 1'500'001,
            .duration_ps = 7,
            .flow = 42,
            .flow_place = rank == 0 ? FlowPlace::first : FlowPlace::last});
    }
  };
  return source;
}

class ChromeWriter : public testing::Test {
 protected:
  void SetUp() override { dir_ = test::scratch_dir("chrome_writer"); }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::string path(const std::string& name) const { return dir_ + "/" + name; }
  Json written(const SliceSource& source) const {
    const auto result = write_timeline(source, path("t.json"));
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().text());
    return Json::parse(text_of(path("t.json")));
  }
  std::string dir_;
};

TEST_F(ChromeWriter, NamesProcessesAndThreads) {
  const Json trace = written(two_ranks());
  EXPECT_EQ(trace["displayTimeUnit"], "ns");
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
  for (const Json& e : trace["traceEvents"]) {
    if (e["name"] == "process_name") processes[e["pid"]] = e["args"]["name"];
    if (e["name"] == "thread_name") threads[{e["pid"], e["tid"]}] = e["args"]["name"];
  }
  EXPECT_EQ(processes, (std::map<int, std::string>{{0, "rank 0"}, {1, "rank 1"}}));
  EXPECT_EQ(threads, (std::map<std::pair<int, int>, std::string>{
                         {{0, 1}, "compute"}, {{0, 2}, "comm"}, {{1, 1}, "compute"}, {{1, 2}, "comm"}}));
}

TEST_F(ChromeWriter, SlicesKeepEveryPicosecond) {
  const std::string text = (written(two_ranks()), text_of(path("t.json")));
  EXPECT_NE(
      text.find(
          "\"name\":\"gemm\",\"cat\":\"forward\",\"ts\":0.000000,\"dur\":1.500001,\"args\":{\"op\":\"gemm 1x2x3\"}"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("\"ts\":1.500001,\"dur\":0.000007"), std::string::npos) << text;
}

TEST_F(ChromeWriter, FlowStartsAtTheFirstAndEndsAtTheLastMember) {
  const Json trace = written(two_ranks());
  std::vector<std::string> phases;
  for (const Json& e : trace["traceEvents"]) {
    if (e.value("cat", "") != "flow") continue;
    phases.push_back(std::string(e["ph"]) + " pid " + std::to_string(e["pid"].get<int>()));
    EXPECT_EQ(e["id"], 42);
    EXPECT_EQ(e["bp"], "e");
    EXPECT_DOUBLE_EQ(e["ts"], 1.500001);
  }
  EXPECT_EQ(phases, (std::vector<std::string>{"s pid 0", "f pid 1"}));
}

TEST_F(ChromeWriter, CountersAreEventsOfTheirProcess) {
  SliceSource source = two_ranks();
  source.counters = {{1, "link use", "GB/s"}};
  source.for_each_sample = [](const auto& sink) { sink(CounterSample{0, 1'500'001, 12.5}); };
  const Json last = written(source)["traceEvents"].back();
  EXPECT_EQ(last["ph"], "C");
  EXPECT_EQ(last["pid"], 1);
  EXPECT_EQ(last["name"], "link use");
  EXPECT_EQ(last["args"]["GB/s"], 12.5);
  EXPECT_DOUBLE_EQ(last["ts"], 1.500001);
}

/// A name cannot drive the terminal that shows the file, and is read back as it was.
TEST_F(ChromeWriter, CharactersThatNobodySeesAreEscapes) {
  const std::string name =
      "a\xC2\x9B"
      "31m\xE2\x80\xAE\xC3\xA9\x7F";
  std::string quoted;
  append_json_string(quoted, name);
  EXPECT_EQ(quoted, "\"a\\u009b31m\\u202e\xC3\xA9\\u007f\"");
  EXPECT_EQ(Json::parse(quoted), name);
}

/// What is escaped takes more bytes than it has: < as of a C++ kernel's name takes six.
TEST_F(ChromeWriter, TheBoundHoldsForAnyText) {
  for (const std::string part :
       {"a", "<", "\x7F", "\x01", "\"", "\\", "\xFF", "\xC3\xA9", "\xE2\x82", "\xC2\x9B", "\xE2\x80\xAE"}) {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += part;
    std::string quoted;
    append_json_string(quoted, text);
    EXPECT_EQ(json_string_size(text), quoted.size()) << part;
    SliceSource source;
    source.tracks = {{0, 1, text, text}};
    source.for_each = [&](const std::function<void(const Slice&)>& sink) {
      sink({.track = 0, .name = text, .category = text, .start_ps = 1, .duration_ps = 2, .args = {{text, text}}});
    };
    ASSERT_TRUE(write_timeline(source, path("t.json")).ok());
    const auto written = static_cast<std::int64_t>(text_of(path("t.json")).size());
    EXPECT_LE(written, chrome_trace_bound(source)) << part;
    EXPECT_GT(written + 2000, chrome_trace_bound(source)) << part;
  }
}

TEST_F(ChromeWriter, GzipHoldsTheSameBytes) {
  ASSERT_TRUE(write_timeline(two_ranks(), path("t.json")).ok());
  ASSERT_TRUE(write_timeline(two_ranks(), path("t.json.gz")).ok());
  EXPECT_EQ(gunzipped(path("t.json.gz")), text_of(path("t.json")));
  const std::string packed = text_of(path("t.json.gz"));
  EXPECT_EQ(packed.substr(0, 2), "\x1f\x8b");
}

TEST_F(ChromeWriter, HostileNamesStayText) {
  const std::string hostile = std::string("\"},{\\ \n\t\0 </script>\x07", 20) + "\xff\xfe \xc3\xa9 \xed\xa0\x80";
  SliceSource source;
  source.tracks = {{0, 0, hostile, hostile}};
  source.for_each = [&](const auto& sink) {
    sink(Slice{.track = 0, .name = hostile, .category = hostile, .duration_ps = 1, .args = {{hostile, hostile}}});
  };
  const Json trace = written(source);
  const Json& slice = trace["traceEvents"].back();
  const std::string name = slice["name"];
  EXPECT_EQ(name.substr(0, 20), hostile.substr(0, 20));  // what is UTF-8 comes back as it was
  EXPECT_NE(name.find("\xc3\xa9"), std::string::npos);
  EXPECT_EQ(name.find('\xff'), std::string::npos);
  EXPECT_EQ(slice["args"].begin().value(), name);
  EXPECT_EQ(text_of(path("t.json")).find("</script>"), std::string::npos);
}

TEST_F(ChromeWriter, NoSlicesIsStillATrace) {
  SliceSource source;
  source.for_each = [](const auto&) {};
  EXPECT_TRUE(written(source)["traceEvents"].empty());
}

TEST_F(ChromeWriter, MissingFolderIsAnErrorAndLeavesNothing) {
  const auto result = write_timeline(two_ranks(), path("no/such/t.json"));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().text().find("no/such/t.json"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(dir_));
}

TEST_F(ChromeWriter, FullDiskIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  EXPECT_FALSE(write_timeline(two_ranks(), "/dev/full").ok());
}

/// About 120 MB of JSON pass through; the process may grow by buffers only.
TEST_F(ChromeWriter, AMillionSlicesInFlatMemory) {
  constexpr int kSlices = 1'000'000;
  SliceSource source;
  source.tracks = {{0, 0, "rank 0", "compute"}};
  source.for_each = [](const auto& sink) {
    for (int i = 0; i < kSlices; ++i)
      sink(Slice{
          .track = 0, .name = "gemm 2048x1024x480", .category = "forward", .start_ps = i * 1000LL, .duration_ps = 999});
  };
  const long before = test::peak_kib();
  ASSERT_TRUE(write_timeline(source, path("big.json")).ok());
  ASSERT_TRUE(write_timeline(source, path("big.json.gz")).ok());
  EXPECT_LT(test::peak_kib() - before, 32 * 1024);

  std::ifstream in(path("big.json"));
  int slices = 0;
  for (std::string line; std::getline(in, line);) slices += line.starts_with("{\"ph\":\"X\"");
  EXPECT_EQ(slices, kSlices);
  EXPECT_LT(std::filesystem::file_size(path("big.json.gz")) * 8, std::filesystem::file_size(path("big.json")));
}

std::string microseconds(std::int64_t ps) {
  std::string out;
  append_microseconds(out, ps);
  return out;
}

TEST(JsonText, MicrosecondsAreExact) {
  EXPECT_EQ(microseconds(0), "0.000000");
  EXPECT_EQ(microseconds(1), "0.000001");
  EXPECT_EQ(microseconds(-1'500'000), "-1.500000");
  EXPECT_EQ(microseconds(123'456'789'012), "123456.789012");
  EXPECT_EQ(microseconds(INT64_MAX), "9223372036854.775807");
  EXPECT_EQ(microseconds(INT64_MIN), "-9223372036854.775808");
}

/// Every byte, alone and followed by another, gives valid JSON.
TEST(JsonText, AnyBytesAreAString) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; b += 5) {
      const std::string bytes{static_cast<char>(a), static_cast<char>(b)};
      std::string out;
      append_json_string(out, bytes);
      const Json back = Json::parse(out, nullptr, false);
      ASSERT_TRUE(back.is_string()) << a << " " << b;
      if (a < 128 && b < 128) {
        EXPECT_EQ(back.get<std::string>(), bytes);
      }
    }
  }
}

}  // namespace
}  // namespace distsim::traces
