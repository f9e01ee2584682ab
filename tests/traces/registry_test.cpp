// What holds for every trace format of the registry. A new format needs one small file in tests/traces/data/formats;
// these tests then start by themselves.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/file.hpp"
#include "kineto_text.hpp"
#include "peak_memory.hpp"
#include "test_data.hpp"
#include "traces/chakra/chakra.hpp"
#include "traces/files/gunzip.hpp"
#include "traces/registry.hpp"

namespace distsim::traces {
namespace {

namespace fs = std::filesystem;

struct Sample {
  std::string name, bytes;
};

std::vector<const TraceFormat*> takers(const std::string& bytes) {
  std::vector<const TraceFormat*> out;
  const TraceHead head = look_at(bytes);
  for (const TraceFormat* f : trace_formats()) {
    if (f->sniff(head)) out.push_back(f);
  }
  return out;
}

std::string names_of(const std::vector<const TraceFormat*>& formats) {
  std::string out;
  for (const TraceFormat* f : formats) out += std::string(f->name) + "; ";
  return out;
}

/// The samples of tests/traces/data/formats, by their format.
const std::multimap<const TraceFormat*, Sample>& samples() {
  static const auto all = [] {
    std::multimap<const TraceFormat*, Sample> out;
    for (const auto& entry : fs::directory_iterator(test::root() + "/tests/traces/data/formats")) {
      Sample s{entry.path().filename().string(), read_file(entry.path().string(), 1 << 20).value()};
      const auto formats = takers(s.bytes);
      EXPECT_EQ(formats.size(), 1u) << s.name << ": " << names_of(formats);
      if (formats.size() == 1) out.emplace(formats.front(), std::move(s));
    }
    return out;
  }();
  return all;
}

class Registry : public testing::Test {
 protected:
  /// What `format` says of the bytes: "" or one line.
  std::string refusal(const TraceFormat& format, const std::string& name, const std::string& bytes) {
    const std::string path = test::write(folder_, name, bytes);
    const Result<void> read = format.read != nullptr ? measured(format, path) : graph(format, path, bytes);
    if (read.ok()) return "";
    EXPECT_FALSE(read.error().text().empty());
    for (const char c : read.error().text()) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << read.error().text();
    return read.error().text();
  }

 private:
  static Result<void> measured(const TraceFormat& format, const std::string& path) {
    TraceOptions options;
    options.window = 1 << 12;  // thousands of reads: most of the time would go into clearing large buffers
    TRY_ASSIGN(const std::vector<TraceFile> files, open_trace_file(path, options));
    TraceJob job;
    TRY_ASSIGN(const std::vector<ReadRank> ranks, format.read(files.front(), options, job));
    EXPECT_FALSE(ranks.empty());
    return {};
  }
  static Result<void> graph(const TraceFormat& format, const std::string& path, const std::string& bytes) {
    TRY_ASSIGN(const ChakraGraph read, format.read_graph(bytes, path));
    return {};
  }

  std::string folder_ = test::scratch_dir("trace_registry");
};

TEST_F(Registry, EveryFormatHasASampleThatIsRead) {
  for (const TraceFormat* f : trace_formats())
    EXPECT_TRUE(samples().contains(f)) << f->name << ": add a small file to tests/traces/data/formats";
  for (const auto& [format, sample] : samples()) {
    EXPECT_EQ(refusal(*format, sample.name, sample.bytes), "") << sample.name;
    EXPECT_TRUE(std::ranges::any_of(format->extensions, [&](auto e) { return !e.empty() && sample.name.ends_with(e); }))
        << sample.name;
  }
}

TEST_F(Registry, CutAtEveryByte) {
  for (const auto& [format, sample] : samples()) {
    ASSERT_LE(sample.bytes.size(), 1u << 14) << sample.name << ": too large to be cut at every byte";
    std::size_t read = 0;
    for (std::size_t n = 0; n < sample.bytes.size(); ++n)
      read += refusal(*format, sample.name, sample.bytes.substr(0, n)).empty() ? 1 : 0;
    EXPECT_LT(read, sample.bytes.size()) << sample.name;  // the empty file at least is refused
  }
}

TEST_F(Registry, OtherFormatsAreRefused) {
  for (const TraceFormat* f : trace_formats()) {
    for (const auto& [format, sample] : samples()) {
      if (format == f) continue;
      EXPECT_NE(refusal(*f, sample.name, sample.bytes), "") << f->name << " read " << sample.name;
    }
  }
}

TEST_F(Registry, SniffersOfCutFilesDoNotOverlap) {
  for (const auto& [format, sample] : samples()) {
    for (std::size_t n = 0; n <= sample.bytes.size(); ++n) {
      const auto formats = takers(sample.bytes.substr(0, n));
      EXPECT_LE(formats.size(), 1u) << sample.name << " cut at " << n << ": " << names_of(formats);
    }
  }
}

/// Files of other programs: a trace has one format, and everything else none.
TEST_F(Registry, SniffersOfRealFilesDoNotOverlap) {
  std::map<const TraceFormat*, int> files;
  for (const std::string& folder :
       {test::data("traces"), test::data("hugectr_profiler"), test::root() + "/tests/traces/data"}) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string path = entry.path().string();
      if (!entry.is_regular_file() || path.ends_with(".zip")) continue;
      const auto bytes = read_file(path, std::size_t{1} << 30);
      ASSERT_TRUE(bytes.ok()) << bytes.error().text();
      const std::string head = bytes->substr(0, 1 << 18);
      const auto formats = takers(is_gzip(head) ? gunzip_head(head, 1 << 18) : head);
      EXPECT_LE(formats.size(), 1u) << path << ": " << names_of(formats);
      if (!formats.empty()) ++files[formats.front()];
    }
  }
  for (const TraceFormat* f : trace_formats()) EXPECT_GT(files[f], 0) << f->name;
}

std::string packed_bytes(const std::string& text) {
  std::string out(compressBound(text.size()) + 64, '\0');
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

/// A sample with a tail of 64 MiB, packed into some 64 KiB: refused for its expansion before the memory is taken, or,
/// where the tail is white space behind JSON that is read piece by piece, read in flat memory.
TEST_F(Registry, ExpansionIsCapped) {
  for (const auto& [format, sample] : samples()) {
    const char filler = look_at(sample.bytes).json == TraceHead::Json::none ? '\0' : ' ';
    const std::string bomb = packed_bytes(sample.bytes + std::string(std::size_t{64} << 20, filler));
    const long before = test::peak_kib();
    const std::string text = refusal(*format, sample.name + ".gz", bomb);
    const bool streamed = filler == ' ' && format->read != nullptr;
    EXPECT_TRUE(text.find("100 times") != std::string::npos || (streamed && text.empty()))
        << sample.name << ": " << text;
    EXPECT_LT(test::peak_kib() - before, 48 << 10) << sample.name;
  }
}

TEST_F(Registry, EveryFormatDescribesItself) {
  for (const TraceFormat* f : trace_formats()) {
    EXPECT_FALSE(f->sentence.ends_with('.')) << f->name;
    EXPECT_EQ(f->sentence.find('\n'), std::string_view::npos) << f->name;
  }
}

}  // namespace
}  // namespace distsim::traces
