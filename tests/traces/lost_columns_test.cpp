// Reports whose rows are whole, but whose names, GPUs or ids are lost: what belongs to them is named, and nothing is taken
// for the work of another GPU or for computing.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>

#include "base/file.hpp"
#include "trace_samples.hpp"
#include "traces/trace_reader.hpp"
#include "traces/verdict.hpp"

namespace distsim::traces {
namespace {

class LostColumns : public testing::Test {
 protected:
  TraceJob read(const std::string& path) {
    auto job = read_traces({path});
    EXPECT_TRUE(job.ok()) << job.error().text();
    return job.ok() ? std::move(job).value() : TraceJob{};
  }
  std::string refusal(const std::string& path) {
    const auto job = read_traces({path});
    return job.ok() ? "accepted" : job.error().text();
  }
  /// What a sample lacks, nsys.sqlite or nvprof.nvvp, that further statements were run on.
  std::string missed(const std::string& sample, const std::string& statements) {
    const TraceJob job = read(changed(sample, statements));
    std::string out;
    for (const std::string& part : job.ranks.at(0).notes.missing) out += part + ";";
    return out;
  }
  std::string changed(const std::string& sample, const std::string& statements) {
    const std::string from = test::root() + "/tests/traces/data/formats/" + sample;
    const std::string path = test::write(folder_, sample, read_file(from, 1 << 20).value());
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, statements.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
    return path;
  }
  const std::string folder_ = test::scratch_dir("lost_columns");
};

std::uint64_t left_out(const TraceRank& rank, const std::string& what) {
  const auto at = std::ranges::find(rank.notes.dropped, what, &TraceNotes::Count::what);
  return at != rank.notes.dropped.end() ? at->count : 0;
}

/// Of the sample's two kernels.
TEST_F(LostColumns, NamesAreMissed) {
  EXPECT_EQ(missed("nvprof.nvvp", ""), "");
  EXPECT_EQ(missed("nsys.sqlite", ""), "");
  const std::string two = "the names of 2 records;";
  EXPECT_EQ(missed("nvprof.nvvp", "DELETE FROM StringTable WHERE _id_ = 1;"), two);
  EXPECT_EQ(missed("nvprof.nvvp", "UPDATE StringTable SET value = X'00' WHERE _id_ = 1;"), two) << "no text";
  EXPECT_EQ(missed("nvprof.nvvp", "UPDATE StringTable SET value = '' WHERE _id_ = 1;"), two) << "empty";
  EXPECT_EQ(missed("nvprof.nvvp", "UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SET name = 'gemm';"), two);
  EXPECT_EQ(missed("nsys.sqlite", "UPDATE StringIds SET value = NULL WHERE id = 1;"), two);
  EXPECT_EQ(missed("nsys.sqlite", "UPDATE StringIds SET value = X'00' WHERE id = 1;"), two);
  EXPECT_EQ(refusal(changed("nvprof.nvvp", "DELETE FROM StringTable;")),
            folder_ + "/nvprof.nvvp: found no names in the table StringTable, expected those of the kernels");
}

/// Work of an unknown stream is not said to be that of stream 0 without a word.
TEST_F(LostColumns, StreamsAreMissed) {
  for (const std::string lost : {"NULL", "'compute'", "0.5"}) {
    const std::string set = " SET streamId = " + lost + ";";
    EXPECT_EQ(missed("nvprof.nvvp", "UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL" + set),
              "the streams of 2 kernels and copies;");
    EXPECT_EQ(missed("nsys.sqlite", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL" + set), "the streams of 2 kernels and copies;");
  }
  EXPECT_EQ(missed("nvprof.nvvp", "UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SET streamId = 0;"), "");
}

/// A stream may have a name for a number.
TEST_F(LostColumns, StreamsOfACsv) {
  const auto of_two = [&](const std::string& first, const std::string& second) {
    return read(test::write(folder_, "streams.csv",
                            "Start (ns),Duration (ns),CorrId,Bytes (MB),Device,Ctx,Strm,Name\n1000,500,1,,A (0),1," +
                                first + ",gemm\n1200,500,2,,A (0),1," + second + ",relu\n"));
  };
  const TraceJob named = of_two("compute", "comm");
  EXPECT_EQ(named.ranks.at(0).streams.size(), 2u);
  EXPECT_TRUE(named.ranks[0].notes.missing.empty());
  EXPECT_EQ(of_two("compute", "compute").ranks.at(0).streams.size(), 1u);
  EXPECT_EQ(of_two("", "7").ranks.at(0).notes.missing, std::vector<std::string>{"the streams of 1 kernel or copy"});
}

/// A GPU without a name is none that is called "(name not in the file)".
TEST_F(LostColumns, AGpuMayHaveNoName) {
  const TraceJob job = read(changed("nvprof.nvvp", "DELETE FROM StringTable WHERE _id_ = 3;"));
  EXPECT_EQ(job.ranks.at(0).devices.at(0).name, "");
  EXPECT_TRUE(job.ranks[0].notes.missing.empty());
}

TEST_F(LostColumns, KernelsOfWhichNoneHasATimeAreRefused) {
  EXPECT_EQ(
      refusal(changed("nsys.sqlite", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = NULL;")),
      folder_ +
          "/nsys.sqlite: found 2 kernels in the table CUPTI_ACTIVITY_KIND_KERNEL, none with a usable time, "
          "expected start and end in nanoseconds; is the export complete? Write it again with `nsys export --type sqlite`");
}

TEST_F(LostColumns, WorkOfUnknownGpusIsNotThatOfTheFirst) {
  for (const std::string lost : {"NULL", "'gpu1'", "-1", "0.5", "X'01'", "9000000000"}) {
    const std::string of_nsys = changed(
        "nsys.sqlite", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = " + lost + " WHERE correlationId = 43;");
    const TraceJob nsys = read(of_nsys);
    ASSERT_EQ(nsys.ranks.size(), 1u) << lost;
    EXPECT_EQ(nsys.ranks[0].device_records.size(), 1u) << lost;
    EXPECT_EQ(verdict_of(nsys), "partial, without 1 kernel or copy whose GPU is not recorded") << lost;
    const TraceJob nvprof =
        read(changed("nvprof.nvvp", "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET deviceId = " + lost + ";"));
    ASSERT_EQ(nvprof.ranks.size(), 1u) << lost;
    EXPECT_EQ(nvprof.ranks[0].device_records.size(), 2u) << lost;
    EXPECT_EQ(left_out(nvprof.ranks[0], "kernels and copies whose GPU is not recorded"), 1u) << lost;
  }
  EXPECT_EQ(read(changed("nsys.sqlite", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 1.0;")).ranks.at(0).path,
            folder_ + "/nsys.sqlite");
  EXPECT_NE(refusal(changed("nsys.sqlite", "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN deviceId TO x;"))
                .find("found no GPU of 2 kernels and copies, expected the index of one for each"),
            std::string::npos);
}

/// Two ranges of one id: which end is whose is not known.
TEST_F(LostColumns, RangesWhoseIdRepeatsAreCounted) {
  const std::string second =
      "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES(3,2,2000,ID,2,X'090000000300000000000000',2),"
      "(4,4,2100,ID,2,X'090000000300000000000000',0);";
  const auto with_id = [&](const std::string& id) {
    std::string text = second;
    for (std::size_t at = 0; (at = text.find("ID", at)) != std::string::npos;) text.replace(at, 2, id);
    return read(changed("nvprof.nvvp", text));
  };
  const std::string repeats = "ends of NVTX ranges whose id is missing or repeats";
  EXPECT_EQ(left_out(with_id("2").ranks.at(0), repeats), 0u);
  EXPECT_EQ(left_out(with_id("1").ranks.at(0), repeats), 4u);
  EXPECT_EQ(left_out(with_id("NULL").ranks.at(0), repeats), 2u);
}

TEST_F(LostColumns, CsvWithoutTheNumberOfAGpuOrAName) {
  std::string text = test::gputrace_text();
  text.replace(text.rfind("NVIDIA A100 (1)"), 15, "NVIDIA A100 (x)");
  EXPECT_EQ(verdict_of(read(test::write(folder_, "gpu.csv", text))),
            "partial, without 1 kernel or copy whose GPU is not recorded");
  text = test::gputrace_text();
  text.replace(text.find("ncclDev"), text.rfind('\n') - text.find("ncclDev"), "");
  EXPECT_EQ(verdict_of(read(test::write(folder_, "name.csv", text))), "partial, without the names of 1 record");
}

/// CUPTI says so where it could not collect them.
TEST_F(LostColumns, TimesOfZeroAreNone) {
  const std::string zero = "UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SET start = 0, end = 0 WHERE rowid = 1;";
  const TraceJob job = read(changed("nvprof.nvvp", zero));
  EXPECT_EQ(left_out(job.ranks.at(0), "records without a usable time"), 1u);
}

TEST_F(LostColumns, MisspeltColumnsOfKeys) {
  const std::string path =
      changed("nvprof.nvvp", "ALTER TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL RENAME COLUMN streamId TO stremId;");
  EXPECT_EQ(refusal(path), path +
                               ": table CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: column 'stremId': found no such column, "
                               "expected 'streamId'");
}

TEST_F(LostColumns, KinetoWithoutNames) {
  std::string text = test::trace(test::two_steps());
  for (std::size_t at = 0; (at = text.find("\"name\":\"nccl", at)) != std::string::npos;)
    text.replace(at, 6, "\"nome\"");
  EXPECT_EQ(verdict_of(read(test::write(folder_, "k.json", text))),
            "partial, without the names of 2 kernels and copies");
  text = test::trace(test::two_steps());
  for (std::size_t at = 0; (at = text.find("\"gemm\"", at)) != std::string::npos;) text.replace(at, 6, "5");
  EXPECT_EQ(verdict_of(read(test::write(folder_, "n.json", text))),
            "partial, without the names of 2 kernels and copies");
}

}  // namespace
}  // namespace distsim::traces
