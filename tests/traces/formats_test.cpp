// Formats other than Kineto, and several files as one job.
#include <gtest/gtest.h>
#include <minizip/zip.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "kineto_text.hpp"
#include "test_data.hpp"
#include "traces/build/nvtx_text.hpp"
#include "traces/job_assembly.hpp"
#include "traces/nsight/nsys_report.hpp"
#include "traces/trace_reader.hpp"
#include "traces/verdict.hpp"

namespace distsim::traces {
namespace {

class FormatsTest : public testing::Test {
 protected:
  TraceJob read(const std::vector<std::string>& paths) {
    auto job = read_traces(paths);
    EXPECT_TRUE(job.ok()) << job.error().text();
    return job.ok() ? std::move(job).value() : TraceJob{};
  }
  std::string folder_ = test::scratch_dir("trace_formats");
};

void sql(const std::string& path, const std::string& text) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
  sqlite3_close(db);
}

/// A process 9 with threads, on GPU 0: globalPid = 9 << 24, globalTid = (9 << 24) + 3.
const std::string kNsys =
    "CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT); INSERT INTO META_DATA_EXPORT VALUES('EXPORT_SCHEMA_VERSION','3.20.3');"
    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds "
    "VALUES(1,'gemm<float>'),(2,'cudaLaunchKernel_v7000'),(3,'layer 1');"
    "CREATE TABLE "
    "CUPTI_ACTIVITY_KIND_KERNEL(start,end,deviceId,contextId,streamId,correlationId,globalPid,demangledName,shortName,gridX,"
    "gridY,gridZ,blockX,blockY,blockZ);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL "
    "VALUES(2000,5000,0,1,7,42,150994944,1,1,4,1,1,128,1,1),(6000,7000,0,1,7,43,150994944,1,1,4,1,1,128,1,1);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start,end,globalTid,correlationId,nameId); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME "
    "VALUES(1000,1500,150994947,42,2);"
    "CREATE TABLE NVTX_EVENTS(start,end,eventType,text,textId,globalTid); INSERT INTO NVTX_EVENTS "
    "VALUES(500,1800,59,NULL,3,150994947),(900,1600,59,'aten::mm, op_id = 5, sizes = [[8, 4], [4, "
    "2]]',NULL,150994947),(1,NULL,34,'mark',NULL,150994947);";

TEST_F(FormatsTest, NsysSqlite) {
  const std::string path = folder_ + "/report.sqlite";
  sql(path, kNsys);
  const TraceJob job = read({path});
  const TraceRank& r = job.ranks.at(0);
  EXPECT_EQ(r.format, "Nsight Systems SQLite 3.20.3");
  ASSERT_EQ(r.device_records.size(), 2u);
  EXPECT_EQ(r.device_records[0].duration_ns, 3000);
  ASSERT_NE(r.device_records[0].op, kNone);
  const HostRecord& op = r.host_records[r.device_records[0].op];
  EXPECT_EQ(job.name(op.name), "aten::mm");
  EXPECT_EQ(job.inputs[op.inputs].tensors[1].dims, (std::vector<std::int64_t>{4, 2}));
  EXPECT_EQ(job.name(r.host_records[op.parent].name), "layer 1");
  EXPECT_EQ(r.device_records[1].launch, kNone);  // its call is not in the window
}

/// Each is named at the rank that ran it: here of GPU 0, and two of GPU 1.
TEST_F(FormatsTest, NsysGraphsAreThoseOfTheirRanks) {
  const std::string path = folder_ + "/graphs.sqlite";
  sql(path,
      kNsys +
          "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start,end,deviceId,contextId,streamId,correlationId,globalPid,"
          "graphId); INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(8000,9000,0,1,7,50,150994944,1),"
          "(8000,9000,1,2,7,51,150994944,1),(9500,9900,1,2,7,52,150994944,1);");
  const TraceJob job = read({path});
  ASSERT_EQ(job.ranks.size(), 2u);
  const auto graphs_of = [&](std::size_t rank) {
    std::string found;
    for (const std::string& note : job.ranks[rank].notes.assumptions) {
      if (note.find("recorded as a whole") != std::string::npos) found += note;
    }
    return found;
  };
  EXPECT_EQ(graphs_of(0), "1 CUDA graph recorded as a whole; the kernels inside are unknown");
  EXPECT_EQ(graphs_of(1), "2 CUDA graphs recorded as a whole; the kernels inside are unknown");
}

TEST_F(FormatsTest, NsysTablesMayBeMissingOrEmpty) {
  const std::size_t names = kNsys.find("CREATE TABLE StringIds");
  const std::string only_kernels = kNsys.substr(names, kNsys.find("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME") - names);
  sql(folder_ + "/kernels.sqlite", only_kernels);
  EXPECT_EQ(read({folder_ + "/kernels.sqlite"}).ranks.at(0).device_records.size(), 2u);
  sql(folder_ + "/none.sqlite",
      "CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT); CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start,end)");
  const auto job = read_traces({folder_ + "/none.sqlite"});
  ASSERT_FALSE(job.ok());
  EXPECT_NE(job.error().text().find("no CUDA kernel"), std::string::npos);
}

std::string with_text(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

/// The short name stands in for one that is empty or not there, which is missing all the same.
TEST_F(FormatsTest, NsysNamesThatAreEmptyAreCounted) {
  const auto of_kernels = [&](const std::string& ids, const std::string& text) {
    const std::string path = folder_ + "/names.sqlite";
    std::filesystem::remove(path);
    sql(path, with_text(with_text(kNsys, "43,150994944,1,1,", "43,150994944," + ids + ","), "(3,'layer 1')",
                        "(3,'layer 1'),(4,'" + text + "')"));
    TraceJob job = read({path});
    return std::pair(std::string(job.name(job.ranks.at(0).device_records.at(1).name)), verdict_of(job));
  };
  const std::string one_missing = "partial, without the names of 1 record";
  EXPECT_EQ(of_kernels("NULL,1", ""), std::pair(std::string("gemm<float>"), std::string("complete")));
  EXPECT_EQ(of_kernels("4,1", ""), std::pair(std::string("gemm<float>"), one_missing));
  EXPECT_EQ(of_kernels("5,1", ""), std::pair(std::string("gemm<float>"), one_missing));
  EXPECT_EQ(of_kernels("4,4", "relu"), std::pair(std::string("relu"), std::string("complete")));
  EXPECT_EQ(of_kernels("4,4", ""), std::pair(std::string("(name not in the report)"), one_missing));
}

TEST_F(FormatsTest, NsysIdsHaveOneText) {
  const auto with = [&](const std::string& more) {
    const std::string path = folder_ + "/texts.sqlite";
    std::filesystem::remove(path);
    sql(path,
        with_text(with_text(kNsys, "id INTEGER PRIMARY KEY", "id INTEGER"), "(3,'layer 1')", "(3,'layer 1')" + more));
    return read_traces({path});
  };
  EXPECT_TRUE(with(",(1,'gemm<float>'),(4,'layer 1')").ok()) << "the same text twice";
  const auto job = with(",(1,'relu')");
  ASSERT_FALSE(job.ok());
  EXPECT_NE(job.error().text().find("StringIds: found the id 1 with two texts, 'gemm<float>' and 'relu', expected one"),
            std::string::npos)
      << job.error().text();
}

TEST_F(FormatsTest, SizesThatCannotBeAreUnknownAndCounted) {
  const std::string copies =
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start,end,deviceId,contextId,streamId,correlationId,globalPid,bytes,copyKind);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(7000,8000,0,1,7,44,150994944,4096,1),"
      "(8000,9000,0,1,7,45,150994944,-4096,1),(9000,9900,0,1,7,46,150994944,9000000000000000,1);";
  sql(folder_ + "/copies.sqlite", kNsys + copies);
  const TraceJob job = read({folder_ + "/copies.sqlite"});
  const TraceRank& r = job.ranks.at(0);
  ASSERT_EQ(r.device_records.size(), 5u);
  EXPECT_EQ(r.device_records[2].bytes, 4096);
  EXPECT_EQ(r.device_records[3].bytes, -1);
  EXPECT_EQ(r.device_records[4].bytes, -1);
  EXPECT_EQ(std::ranges::count(r.notes.assumptions, "2 sizes of copies below 0 or above 2^50 bytes taken for unknown"),
            1);
}

/// nsys writes the GPU 0 into the synchronizations of every process.
TEST_F(FormatsTest, NsysSynchronizationsAreOfTheGpuOfTheirProcess) {
  const std::string sync =
      "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start,end,deviceId,streamId,correlationId,globalPid,syncType,"
      "eventSyncId);INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES(5100,5200,0,7,44,150994944,3,0);";
  const auto read_with = [&](const std::string& name, const std::string& tables) {
    sql(folder_ + name, tables + sync);
    return read({folder_ + name});
  };
  const std::string on_gpu_3 =
      with_text(with_text(kNsys, "(2000,5000,0,", "(2000,5000,3,"), "(6000,7000,0,", "(6000,7000,3,");
  const TraceJob one = read_with("/one.sqlite", on_gpu_3);
  ASSERT_EQ(one.ranks.at(0).syncs.size(), 1u);
  EXPECT_EQ(one.ranks[0].syncs[0].stream, 0u);
  const TraceJob two = read_with("/two.sqlite", with_text(on_gpu_3, "(2000,5000,3,", "(2000,5000,2,"));
  ASSERT_EQ(two.ranks.size(), 2u);
  EXPECT_TRUE(two.ranks[0].syncs.empty() && two.ranks[1].syncs.empty());
  const auto& dropped = two.ranks[0].notes.dropped;
  EXPECT_TRUE(std::ranges::any_of(dropped, [](const auto& d) {
    return d.what == "synchronizations with a GPU on which their process ran nothing" && d.count == 1;
  }));
}

TEST_F(FormatsTest, NsysDamagedAnywhere) {
  const std::string path = folder_ + "/report.sqlite";
  sql(path, kNsys);
  std::ifstream in(path, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  int read = 0;
  const auto attempt = [&](const std::string& bytes) {
    read += read_traces({test::write(folder_, "damaged.sqlite", bytes)}).ok() ? 1 : 0;
  };
  for (std::size_t i = 0; i < good.size(); i += 53) {
    std::string flipped = good;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
    attempt(flipped);
  }
  for (std::size_t n = 0; n < good.size(); n += 511) attempt(good.substr(0, n));
  EXPECT_GT(read, 100);  // most bytes of a page are free
}

TEST(NvtxText, SplitsOps) {
  const NvtxText t = nvtx_text("aten::mul, op_id = 322567, seq = 12, sizes = [[8, 3], [4]], x");
  EXPECT_EQ(t.name, "aten::mul");
  EXPECT_EQ(t.sizes, "[[8, 3], [4]]");
  EXPECT_EQ(nvtx_text("layer, 1").kind, HostKind::annotation);
  EXPECT_EQ(nvtx_text("layer, 1").name, "layer, 1");
}

/// As PyProf and DLProf write them: Python dictionaries.
TEST(NvtxText, MarkersOfDlprofAreOpsAndLayers) {
  const NvtxText op = nvtx_text(
      "{'mod': 'torch.nn.functional', 'op': 'linear', 'args': [{'name': '', 'type': 'tensor', 'shape': (64, 1024), "
      "'dtype': 'float16'}, {'name': '', 'type': 'int', 'value': 1}, {'name': 'bias', 'type': 'tensor', 'shape': (8,), "
      "'dtype': 'float32'}]}");
  EXPECT_EQ(op.kind, HostKind::op);
  EXPECT_EQ(op.name, "torch.nn.functional.linear");
  EXPECT_EQ(op.sizes, "[[64, 1024], [8]]");
  EXPECT_EQ(op.types, "[\"float16\", \"float32\"]");
  const NvtxText json = nvtx_text(R"({"mod": "torch", "op": "add", "args": [{"shape": [4]}, {"shape": ()}]})");
  EXPECT_EQ(json.name, "torch.add");
  EXPECT_EQ(json.sizes, "[[4], []]");
  const NvtxText layer = nvtx_text("{'mod': 'Linear', 'strRepr': 'in_features=1024, out_features=8'}");
  EXPECT_EQ(layer.kind, HostKind::annotation);
  EXPECT_EQ(layer.name, "Linear(in_features=1024, out_features=8)");
  EXPECT_EQ(nvtx_text("{'traceMarker': ['train.py:12', 'model.py:40']}").kind, HostKind::python);
}

/// Cut anywhere, or of another make: the text is a name, or an op without the arguments that cannot be read.
TEST(NvtxText, OtherDictionariesAreNames) {
  const std::string whole = "{'mod': 'torch', 'op': 'mm', 'args': [{'shape': (8, 3), 'dtype': 'float16'}]}";
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const NvtxText cut = nvtx_text(whole.substr(0, n));
    EXPECT_TRUE(cut.name == whole.substr(0, n) || cut.name == "torch.mm") << cut.name;
  }
  for (const std::string text :
       {"{'step': 3}", "{'mod': 3, 'op': 4}", "{'mod': 'torch'}", "{mod: 'torch', op: 'mm'}", "{}"}) {
    EXPECT_EQ(nvtx_text(text).name, text);
    EXPECT_EQ(nvtx_text(text).kind, HostKind::annotation);
  }
  EXPECT_EQ(nvtx_text("{'mod': 'torch', 'op': 'mm', 'args': [{'shape': (-1, x)}]}").sizes, "");
}

TEST_F(FormatsTest, GputraceFindsColumnsByName) {
  const std::string csv =
      "Processing [report.sqlite] with [cuda_gpu_trace.py]...\n\nDuration (us),Start "
      "(ms),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Bytes (MB),Device,Ctx,Strm,Name\n"
      "2.5,1.0,11,4,1,1,128,1,1,,NVIDIA A100 (1),1,7,\"void k<int, 2>(\"\"x\"\")\"\n1,1.5,12,,,,,,,4.2,NVIDIA A100 (1),1,7,[CUDA "
      "memcpy Host-to-Device]\nbroken,row\n1,2.0,13";
  const TraceJob job = read({test::write(folder_, "trace.csv", csv)});
  const TraceRank& r = job.ranks.at(0);
  ASSERT_EQ(r.device_records.size(), 2u);
  EXPECT_EQ(job.name(r.device_records[0].name), "void k<int, 2>(\"x\")");
  EXPECT_EQ(r.device_records[0].duration_ns, 2500);
  EXPECT_EQ(r.device_records[1].start_ns - r.device_records[0].start_ns, 500'000);
  EXPECT_EQ(r.device_records[1].bytes, 4'200'000);
  EXPECT_EQ(r.devices.at(0).name, "NVIDIA A100");
}

TEST_F(FormatsTest, AHeaderAgainIsNoRow) {
  const std::string csv = "Start (ns),Duration (ns),Device,Strm,Name\n1000,500,A (0),7,k\n2000,500,A (0),7,Name\n";
  const TraceJob job =
      read({test::write(folder_, "twice.csv", csv + csv.substr(0, csv.find('\n')) + "\n3000,500,A (0),7,k\n")});
  const TraceRank& r = job.ranks.at(0);
  EXPECT_EQ(r.device_records.size(), 3u);
  EXPECT_TRUE(r.notes.missing.empty());
  EXPECT_EQ(std::ranges::count(r.notes.assumptions, "1 repeated header skipped"), 1);
}

TEST_F(FormatsTest, HugectrBothGenerations) {
  const std::string times = R"x("measured_times_ms":[0.5,0.1,0.2],"iter_start_to_event_start_times_ms":[0.3,0.1,99])x";
  const std::string one = R"x({"host_name":"h","iter_time_ms":[3,2,100],"events":[{"device_id":1,"stream":"0x7f10",)x"
                          R"x("layer_name":"BottomMLP.fc1","name":"fprop","start_index":0,"end_index":1,)x" +
                          times + "}]}";
  const std::string two =
      R"x({"events":[{"device_id":0,"stream":"0x1","event_name":"inf_forward_a2a","met_times_within_this_stream":1,)x" +
      times + R"x(},{"device_id":0,"stream":"0x1","event_name":"no times"}],"iter_time_ms":[]})x";
  const TraceJob first = read({test::write(folder_, "one.prof.json", one)});
  EXPECT_EQ(first.name(first.ranks.at(0).device_records.at(0).name), "BottomMLP.fc1.fprop");
  EXPECT_EQ(first.ranks[0].device_records[0].duration_ns, 200'000);  // medians
  EXPECT_EQ(first.ranks[0].steps.at(0).end_ns - first.ranks[0].steps[0].start_ns, 3'000'000);
  EXPECT_TRUE(first.ranks[0].times_are_medians);
  const TraceJob second = read({test::write(folder_, "two.prof.json", two)});
  EXPECT_EQ(second.name(second.ranks.at(0).device_records.at(0).name), "inf_forward_a2a #1");
  EXPECT_TRUE(second.ranks[0].device_records[0].communication);
}

std::string hugectr_event(const std::string& name, double start, double duration, int first, int last) {
  return R"x({"device_id":0,"stream":"0x1","event_name":")x" + name + R"x(","start_index":)x" + std::to_string(first) +
         R"x(,"end_index":)x" + std::to_string(last) + R"x(,"measured_times_ms":[)x" + std::to_string(duration) +
         R"x(],"iter_start_to_event_start_times_ms":[)x" + std::to_string(start) + "]}";
}

/// bprop holds two GEMMs of 0.9 of its 1.0 ms; the second ends after it in the medians.
TEST_F(FormatsTest, HugectrEventsCountBesideThoseThatTheyHold) {
  const std::string events = hugectr_event("bprop", 0.1, 1.0, 0, 5) + "," + hugectr_event("gemm_1", 0.2, 0.3, 1, 2) +
                             "," + hugectr_event("gemm_2", 0.6, 0.6, 3, 4) + "," +
                             hugectr_event("update", 1.3, 0.5, 6, 7);
  const TraceJob job = read({test::write(folder_, "nested.prof.json",
                                         R"x({"host_name":"h","iter_time_ms":[2],"events":[)x" + events + "]}")});
  std::vector<std::pair<std::string, std::int64_t>> found;
  for (const DeviceRecord& d : job.ranks.at(0).device_records)
    found.emplace_back(job.name(d.name), d.duration_ns / 1000);
  EXPECT_EQ(found, (std::vector<std::pair<std::string, std::int64_t>>{
                       {"bprop", 100}, {"gemm_1", 300}, {"bprop", 100}, {"gemm_2", 600}, {"update", 500}}));
  EXPECT_EQ(std::ranges::count(
                job.ranks[0].notes.assumptions,
                "1 event of 4 holds others: only the time beside those is its own, in as many parts as they leave"),
            1);
}

/// Three GEMMs within bprop, of which the last is beyond the median iteration, and with it the fourth part of bprop.
TEST_F(FormatsTest, HugectrNotesCountEventsAndNotTheirParts) {
  const std::string events = hugectr_event("bprop", 0.1, 3.0, 0, 7) + "," + hugectr_event("gemm_1", 0.2, 0.3, 1, 2) +
                             "," + hugectr_event("gemm_2", 0.6, 0.6, 3, 4) + "," +
                             hugectr_event("gemm_3", 2.5, 0.5999, 5, 6) + "," + hugectr_event("update", 3.2, 0.0, 8, 9);
  const TraceJob job = read({test::write(folder_, "parts.prof.json",
                                         R"x({"host_name":"h","iter_time_ms":[2,2,9],"events":[)x" + events + "]}")});
  EXPECT_EQ(missing_parts(job), std::vector<std::string>{
                                    "2 of 5 events in the iteration (of 2 ms; they begin up to 3.2 ms after its start, "
                                    "in longer ones)"});
  const std::vector<std::string>& notes = job.ranks.at(0).notes.assumptions;
  EXPECT_EQ(std::ranges::count(notes, "1 of 5 events takes no time"), 1);
  EXPECT_TRUE(std::ranges::none_of(notes, [](const auto& n) { return n.find("less than 0.2 us") != n.npos; }))
      << "the last part of bprop takes 0.1 us";
}

/// One that does not say where it began holds nothing; of one whose inner events take all, nothing is left.
TEST_F(FormatsTest, HugectrEventsHoldWhatTheirIndicesSay) {
  const auto durations = [&](const std::string& events) {
    const TraceJob job = read({test::write(folder_, "held.prof.json",
                                           R"x({"host_name":"h","iter_time_ms":[2],"events":[)x" + events + "]}")});
    std::vector<std::int64_t> out;
    for (const DeviceRecord& d : job.ranks.at(0).device_records) out.push_back(d.duration_ns / 1000);
    return out;
  };
  const std::string outer = hugectr_event("a", 0.1, 1.0, 0, 5);
  std::string without = hugectr_event("b", 2.0, 0.7, 1, 2);
  without.erase(without.find("\"start_index\""), without.find("\"end_index\"") - without.find("\"start_index\""));
  EXPECT_EQ(durations(outer + "," + without), (std::vector<std::int64_t>{1000, 700}));
  EXPECT_EQ(durations(outer + "," + hugectr_event("b", 0.1, 0.6, 1, 2) + "," + hugectr_event("c", 0.7, 0.6, 3, 4)),
            (std::vector<std::int64_t>{600, 600}));
  EXPECT_EQ(durations(outer + "," + hugectr_event("b", 0.2, 0.6, 1, 2) + "," + hugectr_event("c", 0.7, 0.6, 3, 4)),
            (std::vector<std::int64_t>{100, 600, 600}));
}

TEST_F(FormatsTest, HugectrExchangesAreCommunication) {
  for (const auto& [name, exchange] :
       std::vector<std::pair<const char*, bool>>{{"all2all_forward", true},
                                                 {"all2all_backward", true},
                                                 {"exchange_wgrad", true},
                                                 {"inter_node_hier_a2a.fprop", true},
                                                 {"multi_node_fre_backward_allreduce", true},
                                                 {"multi_node_inf_forward_a2a_wait_completion", true},
                                                 {"fre_local_reduce.reset_all_gradients", false},
                                                 {"multi_node_inf_hier_update_model", false},
                                                 {"calculate_frequent_sample_indices", false}}) {
    const TraceJob job = read({test::write(
        folder_, "label.prof.json",
        R"x({"host_name":"h","iter_time_ms":[2],"events":[)x" + hugectr_event(name, 0.1, 1, 0, 1) + "]}")});
    EXPECT_EQ(job.ranks.at(0).device_records.at(0).communication, exchange) << name;
  }
}

TEST_F(FormatsTest, HugectrTimesAreThoseOfIterationsAndOfGpus) {
  const auto text = [](const char* iterations, const char* device, const char* measured) {
    return std::string(R"x({"host_name":"h","iter_time_ms":)x") + iterations + R"x(,"events":[)x" +
           R"x({"device_id":0,"stream":"0x1","event_name":"a","measured_times_ms":[1],"iter_start_to_event_start_times_ms":[0.5]},)x" +
           R"x({"device_id":)x" + device + R"x(,"stream":"0x2","event_name":"b","measured_times_ms":)x" + measured +
           R"x(,"iter_start_to_event_start_times_ms":[1.5]}]})x";
  };
  const auto read_text = [&](const std::string& json) { return read({test::write(folder_, "x.prof.json", json)}); };
  const TraceJob fine = read_text(text("[3,2,4]", "0", "[2.5]"));
  EXPECT_TRUE(fine.ranks.at(0).notes.dropped.empty());
  const auto late = read_traces({test::write(folder_, "late.prof.json", text("[3,2,4]", "0", "[50]"))}, {});
  ASSERT_FALSE(late.ok());
  EXPECT_NE(late.error().text().find("event 'b': found an end 51.5 ms after its iteration began"), std::string::npos)
      << late.error().text();
  const TraceJob unread = read_text(text("[3,null,4]", "\"x\"", "[2.5]"));
  EXPECT_EQ(unread.ranks.at(0).device_records.size(), 1u);
  ASSERT_EQ(unread.ranks[0].notes.dropped.size(), 2u);
  EXPECT_EQ(unread.ranks[0].notes.dropped[0].what, "unreadable events");
  EXPECT_EQ(unread.ranks[0].notes.dropped[1].what, "iterations without a usable time");
}

TEST_F(FormatsTest, ZipMembersAreRanks) {
  const std::string path = folder_ + "/run.zip";
  zipFile zip = zipOpen64(path.c_str(), 0);
  for (const std::string name : {"rank0.json", "rank1.json", "__MACOSX/._rank0.json"}) {
    const std::string text = test::trace(test::two_steps());
    ASSERT_EQ(zipOpenNewFileInZip(zip, name.c_str(), nullptr, nullptr, 0, nullptr, 0, nullptr, Z_DEFLATED, 6), ZIP_OK);
    zipWriteInFileInZip(zip, text.data(), static_cast<unsigned>(text.size()));
    zipCloseFileInZip(zip);
  }
  zipClose(zip, nullptr);
  const TraceJob job = read({path});
  ASSERT_EQ(job.ranks.size(), 2u);
  EXPECT_EQ(job.ranks[1].rank, 1u);
  EXPECT_EQ(job.matches.size(), 2u);  // one all-reduce a step
}

TEST_F(FormatsTest, OurOwnTwoRanksWithExecutionTraces) {
  // tests/traces/data/make_samples.py: 3 steps, one gloo all-reduce of all gradients a step; Linear(64,128),
  // Linear(128,8).
  const TraceJob job = read({test::root() + "/tests/traces/data/two_ranks"});
  ASSERT_EQ(job.ranks.size(), 2u);
  for (const TraceRank& r : job.ranks) {
    EXPECT_EQ(r.steps.size(), 3u);
    EXPECT_EQ(r.collectives.size(), 3u);
    bool found = false;
    for (const HostRecord& h : r.host_records) {
      if (job.name(h.name) != "aten::addmm" || h.inputs == kNone) continue;
      const OpInputs& in = job.inputs[h.inputs];
      found = found || (in.tensors.size() > 2 && in.tensors[1].dims == std::vector<std::int64_t>{32, 64} &&
                        in.tensors[2].dims == std::vector<std::int64_t>{64, 128});
    }
    EXPECT_TRUE(found) << "shapes come from the execution trace";
  }
  EXPECT_EQ(job.matches.size(), 3u);
}

/// One product of each of 2 traces: times beside one, sizes in both.
TEST_F(FormatsTest, AnExecutionTraceIsOfTheSameRun) {
  const auto run = [&](const std::string& shapes, const std::string& type, const std::string& rest = "]}") {
    const std::string kineto = test::write(
        folder_, "run_kineto_rank0.json",
        test::trace(
            {test::event(
                 "cpu_op", "aten::mm", "5", "10", 0, 50,
                 "\"Record function id\":1,\"Input Dims\":[[8,4],[4,2]],\"Input type\":[\"c10::Half\",\"c10::Half\"]"),
             test::event("cuda_runtime", "cudaLaunchKernel", "5", "10", 2, 5, "\"correlation\":1"),
             test::event("kernel", "gemm", "0", "7", 10, 20, "\"correlation\":1,\"device\":0,\"stream\":7")}));
    const std::string et = test::write(
        folder_, "run_et_rank0.json",
        R"x({"schema":"1.0.1","pid":1,"nodes":[{"name":"aten::mm","id":2,"rf_id":1,"parent":1,"tid":1,"input_shapes":)x" +
            shapes + R"x(,"input_types":["Tensor()x" + type + R"x()","Tensor()x" + type +
            R"x()"],"inputs":["",""],"outputs":[],"output_shapes":[],"output_types":[]})x" + rest);
    return read_traces({kineto, et});
  };
  const auto same = run("[[8,4],[4,2]]", "c10::Half");
  ASSERT_TRUE(same.ok()) << same.error().text();
  EXPECT_TRUE(missing_parts(*same).empty());
  for (const auto& other : {run("[[4,4],[4,2]]", "c10::Half"), run("[[8,4],[4,2]]", "float")}) {
    ASSERT_FALSE(other.ok());
    EXPECT_NE(other.error().text().find("1 of 1 call with sizes in both: the execution trace is of another run"),
              std::string::npos)
        << other.error().text();
  }
  std::string others = "]}";
  for (int id = 100; id < 130; ++id)
    others.insert(0, R"x(,{"name":"aten::other","rf_id":)x" + std::to_string(id) + R"x(,"id":)x" + std::to_string(id) +
                         R"x(,"parent":1,"tid":1,"inputs":[],"input_shapes":[],"input_types":[],"outputs":[]})x");
  EXPECT_TRUE(run("[[8,4],[4,2]]", "c10::Half", others).ok()) << "all ops of the Kineto trace are in the other";
  const auto cut = run("[[8,4],[4,2]]", "c10::Half", ",{\"name\":\"aten::m");
  ASSERT_TRUE(cut.ok()) << cut.error().text();
  EXPECT_EQ(missing_parts(*cut), std::vector<std::string>{"the rest of a file that is cut off (execution trace)"});
}

/// One iteration is recorded by the execution trace, several by the profiler, without ids in common: nothing is taken.
TEST_F(FormatsTest, AnExecutionTraceOfFewerIterationsIsNoOtherRun) {
  std::vector<std::string> events{
      test::event("cuda_runtime", "cudaLaunchKernel", "5", "10", 2, 5, "\"correlation\":1"),
      test::event("kernel", "gemm", "0", "7", 10, 20, "\"correlation\":1,\"device\":0,\"stream\":7")};
  for (int step = 0; step < 3; ++step) {
    for (int i = 0; i < 6; ++i)
      events.push_back(test::event("cpu_op", "aten::mm", "5", "10", 100 * step + 10 * i, 5, ""));
  }
  events.push_back(test::event("cpu_op", "aten::randn", "5", "10", 400, 5, ""));  // once in both
  std::string nodes =
      R"x({"name":"aten::randn","id":9,"parent":1,"tid":1,"inputs":[],"input_shapes":[],"input_types":[],"outputs":[]})x";
  for (int id = 2; id < 8; ++id)
    nodes += std::string(",") + R"x({"name":"aten::mm","id":)x" + std::to_string(id) +
             R"x(,"parent":1,"tid":1,"inputs":[],"input_shapes":[],"input_types":[],"outputs":[]})x";
  const auto job = read_traces(
      {test::write(folder_, "steps_kineto_rank0.json", test::trace(events)),
       test::write(folder_, "steps_et_rank0.json", R"x({"schema":"1.0.1","pid":1,"nodes":[)x" + nodes + "]}")});
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_TRUE(std::ranges::any_of(job->ranks.at(0).notes.assumptions, [](const std::string& text) {
    return text.find("as of other iterations: nothing is taken from it") != text.npos;
  }));
}

/// Ids of two runs may be equal, and a name or two.
TEST_F(FormatsTest, AnExecutionTraceOfAnotherRunHasOtherOps) {
  const auto run = [&](int alike) {
    std::vector<std::string> events;
    std::string nodes;
    for (int id = 1; id <= 6; ++id) {
      events.push_back(test::event("cpu_op", id <= alike ? "aten::mm" : "aten::relu", "5", "10", id * 100, 50,
                                   "\"Record function id\":" + std::to_string(id)));
      nodes += std::string(id == 1 ? "" : ",") + R"x({"name":"aten::mm","rf_id":)x" + std::to_string(id) +
               R"x(,"id":)x" + std::to_string(id + 1) +
               R"x(,"parent":1,"tid":1,"inputs":[],"input_shapes":[],"input_types":[],"outputs":[]})x";
    }
    return read_traces(
        {test::write(folder_, "alike_kineto_rank0.json", test::trace(events)),
         test::write(folder_, "alike_et_rank0.json", R"x({"schema":"1.0.1","pid":1,"nodes":[)x" + nodes + "]}")});
  };
  const auto without_ops = read_traces(
      {test::write(folder_, "marks_kineto_rank0.json",
                   test::trace({test::event("user_annotation", "ProfilerStep#1", "5", "10", 0, 500),
                                test::event("kernel", "gemm", "0", "7", 10, 20, "\"device\":0,\"stream\":7")})),
       test::write(folder_, "marks_et_rank0.json",
                   R"x({"schema":"1.0.1","pid":1,"nodes":[{"name":"aten::mm","rf_id":1,"id":2,"parent":1,"tid":1,)x"
                   R"x("inputs":[],"input_shapes":[],"input_types":[],"outputs":[]}]})x")});
  EXPECT_TRUE(without_ops.ok()) << without_ops.error().text();
  const auto most = run(5);
  EXPECT_TRUE(most.ok()) << most.error().text();
  for (const int alike : {0, 1}) {
    const auto other = run(alike);
    ASSERT_FALSE(other.ok());
    EXPECT_NE(other.error().text().find("alike_et_rank0.json: found 6 ops, " + std::to_string(alike) +
                                        " of them among the 6 ops of "),
              std::string::npos)
        << other.error().text();
  }
}

TEST_F(FormatsTest, FoldersAndPatterns) {
  std::filesystem::create_directory(folder_ + "/run");
  std::filesystem::create_directory(folder_ + "/empty");
  for (const std::string n : {"0", "1", "2"})
    test::write(folder_ + "/run", "trace_rank" + n + ".json", test::trace(test::two_steps()));
  EXPECT_EQ(read({folder_ + "/run"}).ranks.size(), 3u);
  EXPECT_EQ(read({folder_ + "/run/*[01].json"}).ranks.size(), 2u);
  EXPECT_EQ(read({folder_ + "/run", folder_ + "/run/trace_rank0.json"}).ranks.size(), 3u);  // each file once
  for (const std::string bad : {"/empty", "/none.json", "/x*.json"})
    EXPECT_FALSE(read_traces({folder_ + bad}).ok()) << bad;
  EXPECT_FALSE(read_traces({}).ok());
}

TEST_F(FormatsTest, PipesAreReadOnce) {
  const std::string path = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << test::trace(test::two_steps()); });
  const TraceJob job = read({path});
  writer.join();
  EXPECT_EQ(job.ranks.at(0).device_records.size(), 4u);
  EXPECT_FALSE(read_traces({"/dev/null"}).ok());
}

TEST(RankInName, FindsNumbers) {
  const auto n = [](const char* name) { return rank_in_name(name).value_or(999); };
  EXPECT_EQ(n("kineto_rank3.json.gz"), 3u);
  EXPECT_EQ(n("rank-12.json"), 12u);
  EXPECT_EQ(n("worker0.1623143566756.pt.trace.json"), 0u);
  EXPECT_EQ(n("chakra.5.et"), 5u);
  EXPECT_EQ(n("trace_7.json.gz"), 7u);
  EXPECT_EQ(n("resnet50.json"), 999u);
  EXPECT_EQ(n("bert_gpu8_rank1.nvvp"), 1u);
  EXPECT_EQ(n("worker8.RANK_3.json"), 3u);
  EXPECT_EQ(n("rank2_gpu8.json"), 2u);
  EXPECT_EQ(n("gpu5.0.json"), 5u);
}

TEST_F(FormatsTest, ClocksAreMovedTogether) {
  // The second rank's clock is 50 ms late; three all-reduces end together.
  std::vector<std::string> ranks[2];
  for (int r = 0; r < 2; ++r) {
    for (int i = 0; i < 3; ++i) {
      const double begin = 1000 + 100 * i + 10 * r, late = 50'000.0 * r;
      ranks[r].push_back(test::event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "0", "7", begin + late,
                                     1050 + 100 * i - begin, "\"stream\":7"));
    }
  }
  const TraceJob job = read({test::write(folder_, "rank0.json", test::trace(ranks[0])),
                             test::write(folder_, "rank1.json", test::trace(ranks[1]))});
  ASSERT_EQ(job.matches.size(), 3u);
  EXPECT_EQ(job.ranks[0].device_records[0].end_ns(), job.ranks[1].device_records[0].end_ns());
  EXPECT_EQ(job.ranks[1].device_records[0].start_ns - job.ranks[0].device_records[0].start_ns, 10'000);
}

/// All real files: each is read, or refused with one line.
TEST(SharedTraces, EveryFileIsReadOrRefused) {
  const std::string folder = test::data("traces");
  int read = 0, refused = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const auto job = read_traces({entry.path().string()});
    (job.ok() ? read : refused) += 1;
    const std::string name = entry.path().filename().string();
    const auto is = [&name](const char* word) { return name.find(word) != std::string::npos; };
    if (!job.ok()) {
      EXPECT_EQ(job.error().text().find('\n'), std::string::npos);
      EXPECT_FALSE(name.ends_with(".gz") && (is("kineto") || is("sqlite") || is("pytorch_et"))) << job.error().text();
    }
  }
  std::printf("%d files read, %d refused\n", read, refused);
  EXPECT_GE(read, test::is_sample("traces") ? 28 : 60);
}

}  // namespace
}  // namespace distsim::traces
