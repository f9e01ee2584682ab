// distsim curves: import, checksum, show.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "collective_fixture.hpp"
#include "collectives/logs/curve_import.hpp"

namespace distsim::collectives {
namespace {

// 8 ranks: busbw = algbw * 14 / 8. 1 KiB in 20 us: 0.05 and 0.09; 1 MiB in 50 us: 20.97 and 36.70.
std::string log_of(const std::string& gpu, const std::string& smallest = "20.00    0.05    0.09") {
  return "# nccl-tests version 2.13.6 nccl-headers=21903 nccl-library=21903\n# Collective test starting: all_reduce_perf\n"
         "# hardware: 1 node of 8 x " +
         gpu +
         "\n# nodes: 1  gpus: 8\n"
         "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
         "        1024           256     float     sum      -1    " +
         smallest + "      0    " + smallest +
         "      0\n"
         "     1048576        262144     float     sum      -1    50.00   20.97   36.70      0    50.00   20.97   36.70      0\n";
}

Result<CurveSet> import_of(const std::vector<std::string>& logs) {
  return import_curves({logs, "my_system", "a100_sxm4_80gb", "2026-11-20"});
}

TEST(CurveImport, ReadsBackWhatItWrote) {
  const auto set = import_of(
      {file_with("import_a.log", log_of("A100")), file_with("import_b.log", log_of("A100", "25.00    0.04    0.07"))});
  ASSERT_TRUE(set.ok()) << set.error().text();
  ASSERT_EQ(set->curves.size(), 2u);
  const auto back = parse_curve_text(curve_text(*set), "back");
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(back->system, "my_system");
  EXPECT_EQ(back->curves[1].date, "2026-11-20");
  EXPECT_EQ(back->curves[0].points[1].time_us, 50);
  EXPECT_EQ(curve_text(*back), curve_text(*set));
}

TEST(CurveImport, AChangedRowIsNoticed) {
  std::string text = curve_text(*import_of({file_with("import_c.log", log_of("A100"))}));
  const std::size_t at = text.find("time_us: 50");
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, 11, "time_us: 40");
  const auto changed = parse_curve_text(text, "changed");
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.error().text().find("checksum: found"), std::string::npos) << changed.error().text();
}

/// Whether curves may be used is part of what the checksum guards, and files that were written before that are read.
TEST(CurveImport, ALostLineOfWhatMustNotBeUsedIsNoticed) {
  CurveSet set = *import_of({file_with("import_used.log", log_of("A100"))});
  set.partial = true;
  set.curves[0].not_used = "host buffers";
  set.curves[0].groups_at_once = 1;
  const std::string text = curve_text(set);
  ASSERT_TRUE(parse_curve_text(text, "whole").ok());
  for (const char* line : {"partial: true", "not_used: \"host buffers\"", "groups_at_once: 1"}) {
    std::string lost = text;
    ASSERT_NE(lost.find(line), std::string::npos) << text;
    lost.erase(lost.find(line), std::string_view(line).size());
    const auto read = parse_curve_text(lost, "lost");
    ASSERT_FALSE(read.ok()) << line;
    EXPECT_NE(read.error().text().find("checksum: found"), std::string::npos) << read.error().text();
  }
  // The sum of a file that says none of it is the one of old.
  set.partial = false;
  set.curves[0].not_used.clear();
  set.curves[0].groups_at_once = 0;
  const std::string plain = curve_text(set);
  const std::size_t at = plain.find("checksum: \""), of_text = text.find("checksum: \"");
  std::string older = text;
  older.replace(of_text, 28, plain, at, 28);
  EXPECT_TRUE(parse_curve_text(older, "older").ok()) << parse_curve_text(older, "older").error().text();
}

/// What MPI sends from host memory is no measurement of the GPUs, whatever --system says.
TEST(CurveImport, HostMemoryStaysHostMemory) {
  for (const std::string& file :
       {file_with("import_host.log", host_memory_log()), file_with("import_host.json", host_memory_json())}) {
    const auto set = import_of({file});
    ASSERT_TRUE(set.ok()) << set.error().text();
    EXPECT_EQ(set->device, "host memory");
    ASSERT_FALSE(set->remarks.empty());
    EXPECT_NE(set->remarks.back().find("measured on host memory"), std::string::npos) << set->remarks.back();
    const auto again = import_of({file_with("import_host.txtpb", curve_text(*set))});
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(again->device, "host memory");
  }
  std::string odd = host_memory_json();
  odd.replace(odd.find("\"float\""), 7, "\"zz\"");
  const auto refused = import_of({file_with("import_type.json", odd)});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("type: found 'zz', expected a type of nccl-tests"), std::string::npos)
      << refused.error().text();
}

TEST(CurveImport, LogsOfTwoSystemsAreRefused) {
  const auto set = import_of({file_with("import_d.log", log_of("A100")), file_with("import_e.log", log_of("H100"))});
  ASSERT_FALSE(set.ok());
  EXPECT_NE(set.error().text().find("expected logs of one system"), std::string::npos) << set.error().text();
}

TEST(CurveImport, ASingleSizeFarAboveTheModelIsNamed) {
  const std::vector<std::string> logs{file_with("import_far.log", log_of("A100", "9000.00    0.00    0.00"))};
  const auto set = import_curves({.logs = logs,
                                  .system = "my_system",
                                  .device = "a100_sxm4_80gb",
                                  .date = "",
                                  .spec = a100_cluster(1).spec(),
                                  .compute_capability = 80});
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_TRUE(std::ranges::any_of(set->remarks, [](const std::string& line) {
    return line.find("all_reduce of 1024 B: found 9") != line.npos && line.find("the model says") != line.npos;
  }));
}

TEST(CurveImport, WhatCannotBeReadBackIsNotWritten) {
  const std::vector<std::string> logs{file_with("import_f.log", log_of("A100"))};
  const auto refused = [](const ImportRequest& request, const std::string& part) {
    const auto set = import_curves(request);
    ASSERT_FALSE(set.ok()) << part;
    EXPECT_NE(set.error().text().find(part), std::string::npos) << set.error().text();
  };
  std::string unstated = log_of("A100");
  unstated.erase(unstated.find("# nodes"), 19);
  const std::vector<std::string> silent{file_with("import_g.log", unstated)};
  refused(ImportRequest{silent, "my_system", "a100_sxm4_80gb", "", {8, 16}},
          "nodes: found 16, expected at most the number of ranks, 8");
  refused(ImportRequest{logs, "my_system", "a100_sxm4_80gb", "", {8, 16}}, "--nodes: found 16, but the log states 1");
  refused(ImportRequest{logs, "my_system", "a100_sxm4_80gb", "", {4, 1}}, "--ranks: found 4, but the log states 8");
  refused(ImportRequest{logs, "my_system", "a100_sxm4_80gb", "yesterday"}, "--date: found 'yesterday'");
  refused(ImportRequest{logs, "my_system", "a100_sxm4_80gb", "2026-11-2x"}, "--date: found '2026-11-2x'");
  for (const char* date : {"2025-02-30", "2025-02-29", "2024-04-31", "2025-00-10", "2025-13", "2025-01-00"})
    refused(ImportRequest{logs, "my_system", "a100_sxm4_80gb", date}, std::string("--date: found '") + date + "'");
  for (const char* date : {"2026-11", "2024-02-29", "2025-12-31", "2024"})
    EXPECT_TRUE(import_curves(ImportRequest{logs, "my_system", "a100_sxm4_80gb", date}).ok()) << date;
}

/// A curve file states when and how it was measured; a flag that says otherwise is one of the two wrong.
TEST(CurveImport, WhatACurveFileStatesIsNotOverruled) {
  const auto set = import_of({file_with("stated.log", log_of("A100"))});
  ASSERT_TRUE(set.ok()) << set.error().text();
  const std::string file = file_with("stated.curve.txtpb", curve_text(*set));
  const std::vector<std::string> files{file};
  const auto error_of = [&](const std::string& date, std::optional<Launch> launch, bool cuda_graph) {
    const auto again = import_curves(ImportRequest{files, "my_system", "a100_sxm4_80gb", date, {}, launch, cuda_graph});
    return again.ok() ? "" : again.error().text();
  };
  EXPECT_EQ(error_of("2026-11-20", Launch::mpi, false), "");
  EXPECT_EQ(error_of("2020-01-01", {}, false), file + ": --date: found 2020-01-01, but the file states 2026-11-20");
  EXPECT_EQ(error_of("", Launch::single_process, false),
            file + ": --launch: found single_process, but the file states mpi");
  EXPECT_NE(error_of("", {}, true).find("--cuda-graph"), std::string::npos);
}

TEST(CurveImport, ACurveFileOfAnotherSystemIsNamed) {
  const auto set = import_of({file_with("renamed.log", log_of("A100"))});
  ASSERT_TRUE(set.ok()) << set.error().text();
  const std::vector<std::string> files{file_with("renamed.curve.txtpb", curve_text(*set))};
  EXPECT_TRUE(import_curves(ImportRequest{files, "my_system", "a100_sxm4_80gb", ""})->remarks.empty());
  const auto other = import_curves(ImportRequest{files, "another", "a100_sxm4_80gb", ""});
  ASSERT_TRUE(other.ok()) << other.error().text();
  ASSERT_EQ(other->remarks.size(), 1u);
  EXPECT_NE(other->remarks[0].find("system: states 'my_system', written as another"), std::string::npos)
      << other->remarks[0];
  const topology::KnownDevices devices(
      {test::config("devices/a100_sxm4_80gb.yaml"), test::config("devices/a100_pcie_40gb.yaml")});
  const auto card = import_curves(ImportRequest{files, "my_system", "a100_pcie_40gb", "", {}, {}, false, devices});
  ASSERT_FALSE(card.ok());
  EXPECT_NE(card.error().text().find("found 'a100_sxm4_80gb', expected a100_pcie_40gb"), std::string::npos)
      << card.error().text();
}

/// Known or not, a device that is not the system's is another.
TEST(CurveImport, ADeviceOfACurveFileIsThatOfTheSystem) {
  const auto set = import_of({file_with("device.log", log_of("8 GPUs"))});
  ASSERT_TRUE(set.ok()) << set.error().text();
  for (const char* device : {"rtx_3090", "gfx942", "intel_max_1550", "h100_sxm5_80gb", "a100_pcie_40gb"}) {
    CurveSet other = *set;
    other.device = device;
    const auto again = import_of({file_with("device.curve.txtpb", curve_text(other))});
    ASSERT_FALSE(again.ok()) << device;
    EXPECT_NE(again.error().text().find(std::string("hardware: found '") + device +
                                        "', expected a100_sxm4_80gb, the GPU of my_system"),
              std::string::npos)
        << again.error().text();
  }
  for (const char* device : {"", "a100_sxm4_80gb", "a100_sxm4_40gb", "NVIDIA A100-SXM4-80GB", "host memory"}) {
    CurveSet same = *set;
    same.device = device;
    EXPECT_TRUE(import_of({file_with("device.curve.txtpb", curve_text(same))}).ok()) << device;
  }
}

TEST(CurveImport, LinksThatWereTakenAwayAreNamed) {
  std::string text = log_of("A100");
  text.replace(text.find("nodes: 1"), 8, "nodes: 2");
  const std::vector<std::string> logs{
      file_with("sockets.log",
                "n0:1:1 [0] NCCL INFO Using network Socket\n+ mpirun -x NCCL_IB_DISABLE=1 ./all_reduce_perf\n" + text)};
  const auto remarks = [&](topology::ClusterSpec spec) {
    const auto set = import_curves({.logs = logs,
                                    .system = "my_system",
                                    .device = "a100_sxm4_80gb",
                                    .date = "",
                                    .spec = std::move(spec),
                                    .compute_capability = 80});
    EXPECT_TRUE(set.ok()) << set.error().text();
    return set.ok() ? set->remarks : std::vector<std::string>{};
  };
  topology::ClusterSpec spec = a100_cluster(2).spec();
  const std::string line =
      "sockets.log: measured with NCCL_IB_DISABLE=1 NCCL_NET=Socket: its prices are those of runs with the same settings";
  EXPECT_TRUE(std::ranges::any_of(remarks(spec), [&](const std::string& said) { return said.ends_with(line); }));
  spec.nic.transport = topology::Transport::tcp;
  EXPECT_FALSE(
      std::ranges::any_of(remarks(spec), [](const std::string& said) { return said.find("settings") != said.npos; }));
}

TEST(CurveImport, GroupsAtOnceHaveRoomOnTheHosts) {
  const auto set = import_of({file_with("room.log", log_of("A100"))});
  ASSERT_TRUE(set.ok()) << set.error().text();
  CurveSet grouped = *set;
  grouped.hosts = {"a", "b"};
  const auto priced = [&](std::uint32_t groups) {
    grouped.curves[0].groups_at_once = groups;
    const std::vector<std::string> logs{file_with("room.curve.txtpb", curve_text(grouped))};
    const auto again = import_curves({.logs = logs,
                                      .system = "my_system",
                                      .device = "a100_sxm4_80gb",
                                      .date = "",
                                      .spec = a100_cluster(2).spec(),
                                      .compute_capability = 80});
    return again.ok() ? "" : again.error().text();
  };
  EXPECT_EQ(priced(2), "");
  EXPECT_NE(priced(4).find("groups_at_once: found 4 groups of 8 ranks, expected at most 16 ranks in all"),
            std::string::npos)
      << priced(4);
  grouped.hosts.clear();  // how many nodes there were is not said
  EXPECT_EQ(priced(4), "");
}

TEST(CurveImport, APipeIsRefusedAndNamed) {
  const std::string pipe = testing::TempDir() + "import_pipe";
  std::filesystem::remove(pipe);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto set = import_of({pipe});  // must not wait for a writer
  ASSERT_FALSE(set.ok());
  EXPECT_NE(set.error().text().find("found a pipe"), std::string::npos) << set.error().text();
}

TEST(CurveShow, DrawsBarsAndNamesWhatIsMissing) {
  const std::string text = show_curves(*import_of({file_with("show.log", log_of("A100"))}));
  EXPECT_NE(text.find("all_reduce, 8 ranks on 1 node, one process per GPU"), std::string::npos) << text;
  EXPECT_NE(text.find("36.70  ########################################\n"), std::string::npos)
      << text;  // the peak fills the bar
  EXPECT_NE(text.find("missing: sizes between 1 KiB and 1 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("missing: sizes above 1 MiB"), std::string::npos) << text;
  EXPECT_EQ(text.find("missing: sizes below"), std::string::npos) << text;
  EXPECT_NE(text.find("missing: no curve for all_gather, reduce_scatter, all_to_all, broadcast"), std::string::npos)
      << text;
}

TEST(CurveShow, NoFieldBreaksALine) {
  CurveSet set = *import_of({file_with("breaks.log", log_of("A100"))});
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  const auto before = lines(show_curves(set));
  set.hardware = set.device = set.system = "a\nb";
  Curve& c = set.curves[0];
  c.library = c.settings = c.label = c.date = c.not_used = "x\ny\rz";
  EXPECT_EQ(lines(show_curves(set)), before) << show_curves(set);
}

TEST(CurveShow, PrintsTheClocksOfTheRun) {
  CurveSet set = *import_of({file_with("run.log", log_of("A100"))});
  EXPECT_EQ(show_curves(set).find("clocks"), std::string::npos);
  set.clocks = {1095, 1215, 2400};
  const auto again = parse_curve_text(curve_text(set), "again");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_NE(show_curves(*again).find("\nclocks: SM 1095 MHz, memory 1215 MHz, CPU locked at 2400 MHz\n"),
            std::string::npos);
}

}  // namespace
}  // namespace distsim::collectives
