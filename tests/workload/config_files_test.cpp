// Every file under configs/models and configs/frameworks is read, and every model builds where it is meant to run.
#include <gtest/gtest.h>

#include <set>

#include "sanitizers.hpp"
#include "shipped_models.hpp"
#include "sim/workload/dlrm/dlrm_spec.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::workload {
namespace {

TEST(ConfigFiles, AreReadAndNamedLikeTheirFile) {
  for (const std::string& name : shipped_model_names()) {
    const ModelSpec m = shipped_model(name);
    EXPECT_EQ(m.name, name);
    EXPECT_FALSE(m.source.empty()) << name;
  }
  for (const std::string& name : stems_in("frameworks")) {
    const FrameworkSpec f = shipped_framework(name);
    EXPECT_EQ(f.name, name);
    EXPECT_FALSE(f.source.empty()) << name;
  }
}

TEST(ConfigFiles, EveryModelBuildsWithEveryFramework) {
  int pairs = 0;
  for (const std::string& name : shipped_model_names()) {
    ModelSpec m = shipped_model(name);
    if (m.family->batching != nullptr)  // two rounds are enough, which is far less than the batch of a thousand GPUs
      m.global_batch = 2 * m.family->batching(m, 128).multiple, m.per_gpu_batch = 0;
    m.memory_check = false;                                             // a trillion weights fit on no GPU alone
    const bool alike = m.family->name == "llm" && name != "llama3_8b";  // models differ in sizes only: two suffice
    for (const std::string& f : stems_in("frameworks")) {
      if (alike && f != "megatron_core" && f != "fsdp2_torchtitan") continue;
      if (++pairs % 5 != 0 && test::has_address_sanitizer()) continue;
      const auto w = build_workload(m, shipped_framework(f), {16, 8, Bytes(80'000'000'000)});
      ASSERT_TRUE(w.ok()) << name << " " << f << ": " << w.error().text();
      EXPECT_GT(w->model_flops, 0);
      EXPECT_GT(w->graph.tasks.size(), 5u);
    }
  }
}

std::int64_t tables_in(const ModelSpec& m) {
  std::int64_t n = 0;
  for (const TableSpec& t : m.as<DlrmSpec>().tables) n += t.count;
  return n;
}

double gibibytes(const ModelSpec& m) {
  double n = 0;
  for (const TableSpec& t : m.as<DlrmSpec>().tables)
    n += 4.0 * static_cast<double>(t.count * t.rows * (t.dim > 0 ? t.dim : m.as<DlrmSpec>().embedding_dim));
  return n / (1 << 30);
}

TEST(ConfigFiles, RecommendersHaveTheirPublishedSizes) {
  EXPECT_NEAR(gibibytes(shipped_model("dlrm_mlperf")) * 1.073741824, 96.1, 0.05);  // GB
  EXPECT_NEAR(gibibytes(shipped_model("dlrm_dcnv2_mlperf")) * 1.073741824, 104.5, 0.05);
  const std::vector<std::tuple<std::string, std::int64_t, double>> synthetic{
      {"tiny", 55, 4.2}, {"small", 107, 26.3}, {"medium", 311, 206.2}, {"large", 612, 773.8}, {"jumbo", 1022, 3109.5}};
  for (const auto& [name, tables, size] : synthetic) {
    const ModelSpec m = shipped_model("tfde_synthetic_" + name);
    EXPECT_EQ(tables_in(m), tables) << name;
    EXPECT_NEAR(gibibytes(m), size, 0.06) << name;
  }
  double lookups = 0;
  const ModelSpec dcnv2 = shipped_model("dlrm_dcnv2_mlperf");
  for (const TableSpec& t : dcnv2.as<DlrmSpec>().tables) lookups += t.pooling_factor;
  EXPECT_EQ(lookups, 214);
}

TEST(ConfigFiles, TheSkewedModelOverloadsRankZero) {
  const auto w =
      build_workload(shipped_model("dlrm_skewed"), shipped_framework("pytorch"), {2, 8, Bytes(80'000'000'000)});
  ASSERT_TRUE(w.ok()) << w.error().text();
  EXPECT_GT(w->memory[0].embeddings, 5 * w->memory[1].embeddings);
}

TEST(ConfigFiles, MistakesAreNamed) {
  const auto read_text = [](const std::string& text) {
    return model_schema().read(*parse_yaml(text, "m.yaml"), "model").error().text();
  };
  EXPECT_NE(read_text("kind: dlrm\ndlrm:\n  tables:\n    - {rows: 0}\n").find("m.yaml:4:"), std::string::npos);
  EXPECT_NE(read_text("kind: dlrn\n").find("dlrm"), std::string::npos);
  EXPECT_NE(read_text("kind: mlp\nglobal_bach: 8\n").find("global_batch"), std::string::npos);
}

TEST(ConfigFiles, OldFrameworkKeysAreRefusedWithTheirNewPlace) {
  const auto refusal = [](const std::string& text) {
    return framework_schema().read(*parse_yaml(text, "f.yaml"), "framework").error().text();
  };
  EXPECT_EQ(refusal("name: x\nhost_per_op: 1 us\n"),
            "f.yaml:2:1: framework.host_per_op: found an old key, expected framework.host.per_op");
  EXPECT_NE(refusal("flash_attention: true\n").find("framework.kernels.attention"), std::string::npos);
  EXPECT_NE(refusal("flash_attention: true\n").find("attention: flash"), std::string::npos);
  EXPECT_NE(refusal("host: {per_opp: 1 us}\n").find("did you mean 'per_op'"), std::string::npos);
  EXPECT_NE(refusal("kernels: {scale_16bit: 0.9}\n").find("kernels.matrix"), std::string::npos);
  EXPECT_NE(refusal("kernels: {overlap_cost: 0.9}\n").find("channels that a collective holds"), std::string::npos);
  std::set<std::string> keys;
  const auto schema = framework_schema();
  for (const FieldDoc& d : schema.docs()) keys.insert(d.key);
  for (const MovedKey& m : schema.moved_keys()) {
    EXPECT_TRUE(m.new_key.empty() || keys.contains(std::string(m.new_key))) << m.new_key;
    const std::string_view found = m.new_key.empty() ? "found a removed key" : "found an old key";
    EXPECT_NE(refusal(std::string(m.old_key) + ": 1\n").find(found), std::string::npos) << m.old_key;
  }
}

}  // namespace
}  // namespace distsim::workload
