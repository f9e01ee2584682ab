// Predicted against measured on a subsample of the public op measurements, where they are at hand. Prints the table and holds each class of op to a
// loose bound, about one and a half times the error when the constants were chosen: enough to notice that something broke.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/config_node.hpp"
#include "base/schema.hpp"
#include "opmodels/cost_csv.hpp"
#include "test_paths.hpp"

namespace distsim {
namespace {

/// The product's own devices by every name they go by.
std::map<std::string, OpModels> shipped_devices() {
  std::map<std::string, OpModels> models;
  const Schema<DeviceSpec> schema = device_schema();
  for (const auto& file : std::filesystem::directory_iterator(test::config("devices"))) {
    const auto node = parse_yaml_file(file.path().string());
    const auto spec = node.ok() ? schema.read(*node) : Result<DeviceSpec>(node.error());
    if (!spec.ok()) continue;  // the devices' own test says so
    for (const std::string& alias : spec->aliases) models.emplace(alias, *OpModels::create(*spec));
  }
  return models;
}

/// gzip -dc through a pipe: the test needs no library of its own for it.
std::string unpacked(const std::string& path) {
  std::string text;
  FILE* pipe = ::popen(("gzip -dc '" + path + "'").c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[65536];
  for (std::size_t got; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, got);
  return ::pclose(pipe) == 0 ? text : "";
}

struct Errors {
  std::vector<double> all, large;  // |predicted / measured - 1|; large: 100 us and more
  void add(double predicted, double measured) {
    const double error = std::abs(predicted / measured - 1);
    all.push_back(error);
    if (measured >= 100) large.push_back(error);
  }
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// Every `step`-th row of a file, grouped by GPU, op, pass and dtype.
class Validation {
 public:
  Result<void> read(const std::string& file, std::size_t step) {
    std::istringstream in(unpacked(test::shared_data("ops/" + file)));
    TRY_ASSIGN(CsvReader reader, CsvReader::open(in, file));
    TRY_ASSIGN(const OpColumns columns, OpColumns::from(reader));
    TRY_ASSIGN(const std::size_t latency, reader.require("latency_us"));
    for (std::size_t i = 0;; ++i) {
      TRY_ASSIGN(const auto fields, reader.next());
      if (!fields) return {};
      if (i % step == 0) price(columns, *fields, std::stod((*fields)[latency]));
    }
  }

  void print() const {
    for (const auto& [key, errors] : groups_) {
      if (errors.all.size() < 8) continue;
      std::printf("  %-62s n %5zu  median %5.1f %%  mean %5.1f %%  >=100us: n %5zu median %5.1f %%\n", key.c_str(), errors.all.size(),
                  100 * median(errors.all), 100 * mean(errors.all), errors.large.size(), 100 * median(errors.large));
    }
    std::printf("  not priced: %zu\n", unpriced_);
  }

  Errors group(const std::string& key) const {
    const auto found = groups_.find(key);
    return found == groups_.end() ? Errors{} : found->second;
  }

 private:
  void price(const OpColumns& columns, const std::vector<std::string>& row, double measured) {
    const OpFields fields(columns, row);
    const std::string gpu(fields.text(OpColumns::gpu));
    const auto found = devices_.find(gpu);
    if (found == devices_.end()) return;  // AMD, unnamed
    const auto op = op_from_row(columns, row);
    const auto cost = op.ok() ? price_row(found->second, *op, gpu) : Result<Cost>(op.error());
    if (!cost.ok()) {
      ++unpriced_;
      return;
    }
    const std::string key = gpu + " " + std::string(fields.text(OpColumns::op)) + " " + std::string(fields.text(OpColumns::pass)) + " " +
                            std::string(fields.text(OpColumns::dtype));
    groups_[key].add(cost->mean.us(), measured);
  }

  std::map<std::string, OpModels> devices_ = shipped_devices();
  std::map<std::string, Errors> groups_;
  std::size_t unpriced_ = 0;
};

struct Bound {
  const char* key;
  double median, large_median;  // of |error|; large: of the rows of 100 us and more
};

void check(const char* file, std::size_t step, std::initializer_list<Bound> bounds) {
  if (test::shared_data(std::string("ops/") + file).empty()) GTEST_SKIP() << "no ../shared/data/ops/" << file << ": measured ops are not part of the project";
  Validation validation;
  const auto read = validation.read(file, step);
  ASSERT_TRUE(read.ok()) << read.error().text();
  std::printf("%s, every %zu. row\n", file, step);
  validation.print();
  for (const Bound& bound : bounds) {
    const Errors errors = validation.group(bound.key);
    ASSERT_GE(errors.all.size(), 5u) << bound.key;
    EXPECT_LE(median(errors.all), bound.median) << bound.key;
    if (errors.large.size() < 5) continue;
    EXPECT_LE(median(errors.large), bound.large_median) << bound.key;
  }
}

TEST(OpsValidation, Bf16Products) {
  check("gemm_aic_bf16.csv.gz", 20,
        {{"A100-SXM4-80GB linear fwd bf16", 0.12, 0.12}, {"H100-SXM5-80GB linear fwd bf16", 0.14, 0.14}, {"H200-SXM-141GB linear fwd bf16", 0.14, 0.14},
         {"B200 linear fwd bf16", 0.14, 0.12}, {"L40S linear fwd bf16", 0.25, 0.14}});
}

TEST(OpsValidation, Fp8Products) {
  check("gemm_aic_fp8.csv.gz", 20, {{"H100-SXM5-80GB linear fwd fp8", 0.40, 0.40}, {"B200 linear fwd fp8", 0.40, 0.45}});
}

TEST(OpsValidation, Fp16Products) {
  check("gemm_vidur_fp16.csv.gz", 20,
        {{"A100-80GB linear fwd fp16", 0.08, 0.08}, {"A40 linear fwd fp16", 0.10, 0.10}, {"H100-80GB linear fwd fp16", 0.12, 0.12}});
}

TEST(OpsValidation, Fp32Products) {
  check("gemm_neusight_linear.csv.gz", 10,
        {{"A100-PCIE-40GB linear fwd fp32", 0.15, 0.15}, {"V100-PCIE-32GB linear fwd fp32", 0.10, 0.10}, {"H100-SXM5-80GB linear fwd fp32", 0.10, 0.10},
         {"T4 linear fwd fp32", 0.22, 0.22}});
  check("gemm_neusight_bmm.csv.gz", 20,
        {{"A100-PCIE-40GB bmm fwd fp32", 0.32, 0.35}, {"V100-PCIE-32GB bmm fwd fp32", 0.17, 0.17}, {"H100-SXM5-80GB bmm fwd fp32", 0.12, 0.12}});
}

TEST(OpsValidation, Convolutions) {
  check("conv2d.csv.gz", 3,
        {{"A100-PCIE-80GB conv2d fwd fp32", 0.38, 0.38}, {"V100-PCIE-32GB conv2d fwd fp32", 0.34, 0.34}, {"T4 conv2d fwd fp32", 0.48, 0.48},
         {"V100-SXM2-32GB conv2d bwd_both fp32", 0.28, 0.28}});
}

TEST(OpsValidation, PointwiseNormsAndSoftmax) {
  check("elementwise_norm_softmax.csv.gz", 5,
        {{"A100-PCIE-40GB add fwd fp32", 0.10, 0.08}, {"V100-PCIE-32GB relu fwd fp32", 0.22, 0.08}, {"A100-80GB add fwd fp16", 0.12, 0.12},
         {"A100-PCIE-40GB layernorm fwd fp32", 0.12, 0.22}, {"A100-PCIE-40GB softmax fwd fp32", 0.10, 0.35},
         {"H100-80GB rmsnorm_or_layernorm fwd fp16", 0.24, 0.28}, {"V100-SXM2-32GB batchnorm fwd fp32", 0.15, 0.15},
         {"V100-SXM2-32GB batchnorm bwd_both fp32", 0.20, 0.20}});
}

TEST(OpsValidation, EmbeddingBagsOfRecommenderTraces) {
  check("embedding.csv.gz", 1,
        {{"A100-PG509-200 fbgemm_tbe_unweighted fwd fp32", 0.30, 0.30}, {"A100-PG509-200 fbgemm_tbe_unweighted bwd+rowwise_adagrad fp32", 0.15, 0.15},
         {"V100-SXM2-16GB fbgemm_tbe_unweighted fwd fp32", 0.60, 0.60}, {"V100-SXM2-16GB fbgemm_tbe_unweighted bwd+rowwise_adagrad fp32", 0.15, 0.15}});
}

}  // namespace
}  // namespace distsim
