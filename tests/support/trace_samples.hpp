// Small samples of the trace formats other than Kineto, and ways to spoil any of them.
#pragma once

#include <gtest/gtest.h>
#include <minizip/zip.h>
#include <sqlite3.h>

#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "kineto_text.hpp"

namespace distsim::test {

inline std::string gputrace_text() {
  return "Processing [report.sqlite] with [cuda_gpu_trace.py]...\n\nStart (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,"
         "Bytes (MB),Device,Ctx,Strm,Name\n"
         "1000,2500,11,4,1,1,128,1,1,,NVIDIA A100 (1),1,7,\"void k<int, 2>(\"\"x\"\")\"\n"
         "4000,1000,12,,,,,,,4.2,NVIDIA A100 (1),1,7,[CUDA memcpy Host-to-Device]\n"
         "6000,900,13,2,1,1,64,1,1,,NVIDIA A100 (1),1,8,ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)\n";
}

/// HugeCTR's profile of generation 1 (layers) or 2 (events).
inline std::string prof_json_text(int generation) {
  const std::string times =
      R"x("measured_times_ms":[0.5,0.1,0.2],"iter_start_to_event_start_times_ms":[0.3,0.1,0.9]})x";
  const std::string first =
      generation == 1
          ? R"x("layer_name":"BottomMLP.fc1","name":"fprop","start_index":0,"end_index":1,)x"
          : R"x("event_name":"inf_forward_a2a","met_times_within_this_stream":1,"start_index":0,"end_index":1,)x";
  return R"x({"host_name":"h","iter_time_ms":[3,2,100],"events":[{"device_id":1,"stream":"0x7f10",)x" + first + times +
         R"x(,{"device_id":0,"stream":"0x1",)x" + first + times + R"x(],"runtime_data":[]})x";
}

inline std::string execution_trace_text() {
  return R"x({"schema":"1.1.1-chakra.0.0.4","nodes":[{"id":2,"name":"aten::mm","ctrl_deps":1,"inputs":{"values":[[1,2,0,)x"
         R"x(4,4,"cpu"]],"shapes":[[2,2]],"types":["Tensor(float)"]},"outputs":{"values":[],"shapes":[[2,2]],)x"
         R"x("types":["Tensor(float)"]},"attrs":[{"name":"rf_id","type":"uint64","value":7},{"name":"scope",)x"
         R"x("type":"uint64","value":0}]},{"id":3,"name":"record_param_comms","ctrl_deps":2,"inputs":{"values":[[],1,)x"
         R"x(["0","pg"],0,"allreduce",[],[],4],"shapes":[[[8]],[],[[],[]]],"types":["GenericList[Tensor(float)]","Int",)x"
         R"x("Tuple[String,String]"]},"outputs":{},"attrs":[{"name":"pg_size","type":"int64","value":4},)x"
         R"x({"name":"global_rank_start","type":"int64","value":0},{"name":"global_rank_stride","type":"int64","value":1}]}],)x"
         R"x("finish_ts":1})x";
}

/// Two processes' worth of tables are left out: process 9 on GPU 0, as globalPid = 9 << 24, globalTid = (9 << 24) + 3.
inline std::string nsys_sql() {
  return "CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT); INSERT INTO META_DATA_EXPORT "
         "VALUES('EXPORT_SCHEMA_VERSION','3.20.3');"
         "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds "
         "VALUES(1,'gemm<float>'),(2,'cudaLaunchKernel_v7000'),(3,'layer 1');"
         "CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs); INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(1700000000);"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start,end,deviceId,contextId,streamId,correlationId,globalPid,demangledName,"
         "shortName,gridX,gridY,gridZ,blockX,blockY,blockZ); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL "
         "VALUES(2000,5000,0,1,7,42,150994944,1,1,4,1,1,128,1,1),(6000,7000,0,1,7,43,150994944,1,1,4,1,1,128,1,1);"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start,end,deviceId,contextId,streamId,correlationId,globalPid,bytes,copyKind); "
         "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(7500,8000,0,1,7,44,150994944,4096,1),(8500,8600,0,1,7,45,150994944,64,2);"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start,end,globalTid,correlationId,nameId); INSERT INTO "
         "CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1000,1500,150994947,42,2);"
         "CREATE TABLE NVTX_EVENTS(start,end,eventType,text,textId,globalTid); INSERT INTO NVTX_EVENTS "
         "VALUES(500,1800,59,NULL,3,150994947),(900,1600,59,'aten::mm, op_id = 5, sizes = [[8, 4], [4, 2]]',NULL,150994947);";
}

/// The database that `text` makes, as the bytes of a file.
inline std::string sqlite_bytes(const std::string& text) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, &message), SQLITE_OK) << (message ? message : "");
  sqlite3_free(message);
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(db, "main", &size, 0);
  std::string out(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(db);
  return out;
}

/// An archive at `path` of members (name, text).
inline void write_zip(const std::string& path, const std::vector<std::pair<std::string, std::string>>& members) {
  zipFile zip = zipOpen64(path.c_str(), 0);
  for (const auto& [name, text] : members) {
    ASSERT_EQ(zipOpenNewFileInZip(zip, name.c_str(), nullptr, nullptr, 0, nullptr, 0, nullptr, Z_DEFLATED, 6), ZIP_OK);
    zipWriteInFileInZip(zip, text.data(), static_cast<unsigned>(text.size()));
    zipCloseFileInZip(zip);
  }
  zipClose(zip, nullptr);
}

/// Calls visit(text) with every number of `text` from byte `from` on replaced by each of a list of absurd ones, one at
/// a time.
template <class Visit>
void for_each_absurd_number(const std::string& text, std::size_t from, Visit visit) {
  static const std::vector<std::string> absurd{"9223372036854775807",
                                               "-9223372036854775808",
                                               "18446744073709551615",
                                               "-1",
                                               "4611686018427387904",
                                               "-2305843009213693951",
                                               "2305843009213693951",
                                               "99999999999999999999999",
                                               "1e300",
                                               "-1e18",
                                               "0"};
  const auto digit = [&](std::size_t i) {
    return i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0;
  };
  for (std::size_t begin = from; begin < text.size();) {
    if (!digit(begin)) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (digit(end) || (end > begin && end < text.size() && text[end] == '.')) ++end;
    for (const std::string& number : absurd) visit(text.substr(0, begin) + number + text.substr(end));
    begin = end;
  }
}

}  // namespace distsim::test
