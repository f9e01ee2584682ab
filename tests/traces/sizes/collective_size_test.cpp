// Sizes in the column of nccl-tests, whoever states them: kernels, calls, or shapes of ops.
#include "traces/sizes/collective_size.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "kineto_text.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::traces {
namespace {

using test::event;

/// One collective of four ranks: a kernel with `arguments`, launched within an op of `dims`.
TraceJob one_kernel(const std::string& op, const std::string& dims, const std::string& kernel,
                    const std::string& arguments = "", int world = 4) {
  const std::string folder = test::scratch_dir("collective_sizes");
  const std::string types = dims.find("],[") == std::string::npos ? "\"float\"" : "\"float\",\"float\"";
  const std::string path = test::write(
      folder, "rank0.json",
      test::trace({event("cpu_op", op, "5", "10", 10, 20, "\"Input Dims\":" + dims + ",\"Input type\":[" + types + "]"),
                   event("cuda_runtime", "cudaLaunchKernel", "5", "10", 15, 5, "\"correlation\":1"),
                   event("kernel", "ncclDevKernel_" + kernel + "(x)", "0", "9", 40, 100,
                         "\"device\":0,\"stream\":9,\"correlation\":1" + arguments)},
                  world == 0 ? "" : "\"distributedInfo\":{\"rank\":0,\"world_size\":" + std::to_string(world) + "},"));
  auto job = read_traces({path});
  EXPECT_TRUE(job.ok()) << job.error().text();
  return std::move(job).value();
}

std::int64_t size_of_only(const TraceJob& job) { return job.ranks[0].collectives.at(0).bytes; }

std::string call_text(const std::string& name, const std::string& in, const std::string& out) {
  return ",\"Collective name\":\"" + name + "\",\"dtype\":\"Float\",\"Group size\":4,\"Process Group Name\":\"0\"" +
         (in.empty() ? "" : ",\"In msg nelems\":" + in) + (out.empty() ? "" : ",\"Out msg nelems\":" + out);
}

TEST(CollectiveSize, APartCountsForEachRankOfTheGroup) {
  const std::string none = "[[]]";
  for (const auto& [name, in, out, kernel] :
       std::vector<std::array<std::string, 4>>{{"_allgather_base", "100", "400", "AllGather_RING_LL"},
                                               {"_allgather_base", "100", "", "AllGather_RING_LL"},
                                               {"_allgather_base", "", "400", "AllGather_RING_LL"},
                                               {"_reduce_scatter_base", "400", "100", "ReduceScatter_Sum_f32_RING_LL"},
                                               {"_reduce_scatter_base", "", "100", "ReduceScatter_Sum_f32_RING_LL"},
                                               {"gather", "100", "400", "SendRecv"},
                                               {"gather", "100", "0", "SendRecv"},
                                               {"scatter", "400", "100", "SendRecv"},
                                               {"scatter", "0", "100", "SendRecv"},
                                               {"allreduce", "400", "400", "AllReduce_Sum_f32_RING_LL"},
                                               {"all_to_all", "400", "400", "SendRecv"}})
    EXPECT_EQ(size_of_only(one_kernel("aten::none", none, kernel, call_text(name, in, out))), 1600)
        << name << " " << in << " " << out;
}

TEST(CollectiveSize, ShapesOfAnOpSayPartOrWhole) {
  for (const auto& [op, dims, kernel] : std::vector<std::array<std::string, 3>>{
           {"nccl:_all_gather_base", "[[100]]", "AllGather_RING_LL"},
           {"nccl:_reduce_scatter_base", "[[400]]", "ReduceScatter_Sum_f32_RING_LL"},
           {"nccl:gather", "[[100]]", "SendRecv"},
           {"nccl:scatter", "[[100]]", "SendRecv"},
           {"nccl:all_reduce", "[[400]]", "AllReduce_Sum_f32_RING_LL"},
           {"nccl:all_reduce", "[[[300],[100]]]", "AllReduce_Sum_f32_RING_LL"},
           {"c10d::_allgather_base_", "[[400],[100]]", "AllGather_RING_LL"},
           {"c10d::_allgather_base_", "[[20,20],[5,20]]", "AllGather_RING_LL"},
           {"c10d::allgather_", "[[],[100]]", "AllGather_RING_LL"},
           {"c10d::_reduce_scatter_base_", "[[100],[400]]", "ReduceScatter_Sum_f32_RING_LL"},
           {"c10d::reduce_scatter_", "[[[100]],[]]", "ReduceScatter_Sum_f32_RING_LL"},
           {"c10d::alltoall_base_", "[[400],[400]]", "SendRecv"}})
    EXPECT_EQ(size_of_only(one_kernel(op, dims, kernel)), 1600) << op << " " << dims;
}

/// The call of a framework names no collective: the kernel's name does.
TEST(CollectiveSize, IsSetWhenTheKindIsKnown) {
  EXPECT_EQ(
      size_of_only(one_kernel("aten::none", "[[]]", "AllGather_RING_LL", call_text("fsdp_unshard", "100", "400"))),
      1600);
  EXPECT_EQ(size_of_only(one_kernel("aten::none", "[[]]", "ReduceScatter_RING_LL", call_text("fsdp_rs", "400", "100"))),
            1600);
  EXPECT_EQ(size_of_only(one_kernel("aten::none", "[[]]", "AllGather_RING_LL", call_text("coalesced", "100", "100"))),
            -1);
}

/// In a group that no trace names the parts stated are as many as they are; one alone counts for all ranks of the job.
TEST(CollectiveSize, OfAnUnnamedGroup) {
  const std::string gather = "AllGather_RING_LL", both = "[[200],[100]]";
  EXPECT_EQ(size_of_only(one_kernel("c10d::_allgather_base_", both, gather)), 800);
  EXPECT_EQ(size_of_only(one_kernel("nccl:all_gather", "[[100]]", gather, "", 0)), -1);
  EXPECT_EQ(size_of_only(one_kernel("c10d::_allgather_base_", "[[200],[70]]", gather)), -1);
  EXPECT_EQ(size_of_only(one_kernel("c10d::_allgather_base_", "[[800],[100]]", gather)), -1)
      << "eight parts, four ranks";
  const TraceJob job = one_kernel("nccl:all_gather", "[[100]]", gather);
  EXPECT_NE(std::ranges::find(job.ranks[0].notes.assumptions,
                              "1 collective of which a rank's part and not the group is known: sized for all 4 ranks"),
            job.ranks[0].notes.assumptions.end());
}

/// Of several too it is one part, and one group.
TEST(CollectiveSize, OfSeveralUnnamedGroups) {
  std::vector<std::string> events;
  for (int i = 0; i < 3; ++i) {
    const double start = 1000.0 * (i + 1);
    const std::string correlation = "\"correlation\":" + std::to_string(i + 1);
    events.push_back(
        event("cpu_op", "nccl:all_gather", "5", "10", start, 20, R"("Input Dims":[[100]],"Input type":["float"])"));
    events.push_back(event("cuda_runtime", "cudaLaunchKernel", "5", "10", start + 5, 5, correlation));
    events.push_back(event("kernel", "ncclDevKernel_AllGather_RING_LL(x)", "0", "9", start + 30, 100,
                           "\"device\":0,\"stream\":9," + correlation));
  }
  const std::string path = test::write(test::scratch_dir("collective_sizes"), "rank0.json",
                                       test::trace(events, R"("distributedInfo":{"rank":0,"world_size":4},)"));
  const auto job = read_traces({path});
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_NE(std::ranges::find(job->ranks[0].notes.assumptions,
                              "3 collectives of which a rank's part and not the group is known: sized for all 4 ranks"),
            job->ranks[0].notes.assumptions.end());
}

}  // namespace
}  // namespace distsim::traces
