// Sizes in the column of nccl-tests, whoever states them: kernels, calls, or shapes of ops.
#include "traces/sizes/collective_size.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "kineto_text.hpp"
#include "traces/build/collective_text.hpp"
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

TEST(CollectiveSize, KernelsThatReduceStateAType) {
  using graph::DType;
  for (const auto& [name, type] : std::vector<std::pair<const char*, std::optional<DType>>>{
           {"ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", DType::fp16},
           {"ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE", DType::fp32},
           {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", DType::bf16},
           {"ncclDevKernel_Reduce_Sum_u32_RING_LL", DType::int32},
           {"ncclDevKernel_AllReduce_Sum_f8e4m3_RING_LL", DType::fp8},
           {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", DType::fp32},
           {"ncclKernel_AllReduce_TREE_LL_Sum_half", DType::fp16},
           {"ncclKernel_ReduceScatter_RING_LL_Sum___nv_bfloat16", DType::bf16},
           {"ncclKernel_AllReduce_RING_LL_Sum_uint8_t", DType::int8},
           {"ncclKernel_AllReduce_RING_LL_Sum_int64_t", DType::int64},
           {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", std::nullopt},
           {"ncclKernel_Broadcast_RING_LL_Sum_int8_t", std::nullopt},
           {"ncclKernel_AllGather_RING_LL_Sum_int8_t", std::nullopt},
           {"ncclAllReduceRingLLKernel_sum_f16(ncclColl)", DType::fp16},
           {"ncclBroadcastRingLLKernel_copy_i8(ncclColl)", std::nullopt},
           {"ncclDevKernel_AllReduce(half)", std::nullopt},
           {"ncclDevKernel_Generic", std::nullopt},
           {"gemm_float", std::nullopt}})
    EXPECT_EQ(dtype_of_kernel(name), type) << name;
}

/// NCCL up to 2.7 names kernels by collective, algorithm and protocol in one word.
TEST(CollectiveSize, OldKernelsNameTheirCollective) {
  using Kind = graph::CollectiveKind;
  for (const auto& [word, kind] : std::vector<std::pair<std::string, Kind>>{{"AllReduce", Kind::all_reduce},
                                                                            {"AllGather", Kind::all_gather},
                                                                            {"ReduceScatter", Kind::reduce_scatter},
                                                                            {"Reduce", Kind::reduce},
                                                                            {"Broadcast", Kind::broadcast}}) {
    for (const char* algorithm : {"RingLL", "TreeLL", "RingLL128", "TreeLL128", "Ring", "Tree", "CollNet", ""}) {
      for (const char* type : {"sum_f32", "prod_f16", "min_i8", "max_u64", "copy_i8"}) {
        const std::string name = "nccl" + word + algorithm + "Kernel_" + type;
        EXPECT_EQ(collective_of_kernel(name), kind) << name;
        EXPECT_EQ(collective_of_kernel("void " + name + "(ncclColl)"), kind) << name;
      }
    }
  }
  EXPECT_EQ(collective_of_kernel("ncclSendRecvKernel_copy_i8(ncclColl)"), Kind::send_recv);
  EXPECT_EQ(collective_of_kernel("ncclKernel_AllGather_RING_LL_Sum_int8_t"), Kind::all_gather);
  EXPECT_EQ(collective_of_kernel("ncclDevKernel_Generic(reduce)"), std::nullopt);
}

TEST(CollectiveSize, ATypeThatIsContradictedGivesNone) {
  const std::string none = "[[]]";
  const auto of_type = [&](const std::string& type, const std::string& name, const std::string& kernel) {
    std::string call = call_text(name, "400", "400");
    call.replace(call.find("Float"), 5, type);
    return one_kernel("aten::none", none, kernel, call);
  };
  EXPECT_EQ(size_of_only(of_type("Float", "allreduce", "AllReduce_Sum_f32_RING_LL")), 1600);
  EXPECT_EQ(size_of_only(of_type("Half", "allreduce", "AllReduce_Sum_bf16_RING_LL")), 800) << "as large";
  EXPECT_EQ(size_of_only(of_type("Half", "all_to_all", "SendRecv_RING_SIMPLE_Sum_int8_t")), 800) << "moves bytes";
  EXPECT_EQ(size_of_only(of_type("Byte", "barrier", "AllReduce_Sum_f32_RING_LL")), 400);
  const TraceJob job = of_type("Half", "allreduce", "AllReduce_Sum_f32_RING_LL");
  EXPECT_EQ(size_of_only(job), -1);
  EXPECT_TRUE(std::ranges::any_of(job.ranks[0].notes.assumptions, [](const std::string& note) {
    return note.find(
               "1 of 1 collective states two types of elements in the call, the kernel or its name (the first: "
               "all_reduce of fp16 and fp32 on 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)'); the size is not "
               "known") != std::string::npos;
  }));
}

TEST(CollectiveSize, ACallOfAnotherTypeThanItsKernelGivesNone) {
  const auto bytes = [](const std::string& type) {
    const std::string stated = call_text("allreduce", "400", "400");
    std::string of_kernel = stated;
    of_kernel.replace(of_kernel.find("Float"), 5, type);
    const std::string path =
        test::write(test::scratch_dir("collective_types"), "rank0.json",
                    test::trace({event("user_annotation", "record_param_comms", "5", "10", 10, 20, stated.substr(1)),
                                 event("cuda_runtime", "cudaLaunchKernel", "5", "10", 15, 5, "\"correlation\":1"),
                                 event("kernel", "ncclDevKernel_Generic(x)", "0", "9", 40, 100,
                                       "\"device\":0,\"stream\":9,\"correlation\":1" + of_kernel)},
                                "\"distributedInfo\":{\"rank\":0,\"world_size\":4},"));
    auto job = read_traces({path});
    EXPECT_TRUE(job.ok()) << job.error().text();
    return size_of_only(*job);
  };
  EXPECT_EQ(bytes("Float"), 1600);
  EXPECT_EQ(bytes("Half"), -1);
}

}  // namespace
}  // namespace distsim::traces
