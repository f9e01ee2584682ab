// Every file under configs/models and configs/frameworks is read, and every model builds where it is meant to run.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "sim/workload/dlrm/dlrm_spec.hpp"
#include "sim/workload/llm/megatron_spec.hpp"
#include "sim/workload/registry.hpp"
#include "test_paths.hpp"

namespace distsim::workload {
namespace {

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(test::config(folder))) {
    if (entry.path().extension() == ".yaml") out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

template <class S>
S read(const std::string& path, const Schema<S>& schema, const std::string& section) {
  const auto node = parse_yaml_file(path);
  CHECK(node.ok()) << node.error().text();
  auto value = schema.read(*node, section);
  CHECK(value.ok()) << value.error().text();
  return std::move(value).value();
}

ModelSpec model(const std::string& name) {
  return read(test::config("models/" + name + ".yaml"), model_schema(), "model");
}
FrameworkSpec framework(const std::string& name) {
  return read(test::config("frameworks/" + name + ".yaml"), framework_schema(), "framework");
}

TEST(ConfigFiles, AreReadAndNamedLikeTheirFile) {
  for (const std::string& path : files_in("models")) {
    const ModelSpec m = read(path, model_schema(), "model");
    EXPECT_EQ(m.name, std::filesystem::path(path).stem().string());
    EXPECT_FALSE(m.source.empty()) << path;
  }
  for (const std::string& path : files_in("frameworks")) {
    const FrameworkSpec f = read(path, framework_schema(), "framework");
    EXPECT_EQ(f.name, std::filesystem::path(path).stem().string());
    EXPECT_FALSE(f.source.empty()) << path;
  }
}

TEST(ConfigFiles, EveryModelBuildsWithEveryFramework) {
  for (const std::string& path : files_in("models")) {
    ModelSpec m = read(path, model_schema(), "model");
    if (m.family->batching != nullptr)  // two rounds are enough, which is far less than the batch of a thousand GPUs
      m.global_batch = 2 * m.family->batching(m, 128).multiple;
    for (const std::string& f : files_in("frameworks")) {
      const auto w = build_workload(m, read(f, framework_schema(), "framework"), {16, 8, Bytes(80'000'000'000)});
      ASSERT_TRUE(w.ok()) << path << " " << f << ": " << w.error().text();
      EXPECT_GT(w->model_flops, 0);
      EXPECT_GT(w->graph.tasks.size(), 10u);
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
  EXPECT_NEAR(gibibytes(model("dlrm_mlperf")) * 1.073741824, 96.1, 0.05);  // GB
  EXPECT_NEAR(gibibytes(model("dlrm_dcnv2_mlperf")) * 1.073741824, 104.5, 0.05);
  const std::vector<std::tuple<std::string, std::int64_t, double>> synthetic{
      {"tiny", 55, 4.2}, {"small", 107, 26.3}, {"medium", 311, 206.2}, {"large", 612, 773.8}, {"jumbo", 1022, 3109.5}};
  for (const auto& [name, tables, size] : synthetic) {
    const ModelSpec m = model("tfde_synthetic_" + name);
    EXPECT_EQ(tables_in(m), tables) << name;
    EXPECT_NEAR(gibibytes(m), size, 0.06) << name;
  }
  double lookups = 0;
  for (const TableSpec& t : model("dlrm_dcnv2_mlperf").as<DlrmSpec>().tables) lookups += t.pooling_factor;
  EXPECT_EQ(lookups, 214);
}

TEST(ConfigFiles, TheSkewedModelOverloadsRankZero) {
  const auto w = build_workload(model("dlrm_skewed"), framework("pytorch"), {2, 8, Bytes(80'000'000'000)});
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
  std::set<std::string> keys;
  for (const FieldDoc& d : framework_schema().docs()) keys.insert(d.key);
  for (const MovedKey& m : framework_schema().moved_keys()) {
    EXPECT_TRUE(keys.contains(std::string(m.new_key))) << m.new_key;
    EXPECT_NE(refusal(std::string(m.old_key) + ": 1\n").find("found an old key"), std::string::npos) << m.old_key;
  }
}

}  // namespace
}  // namespace distsim::workload
