#include "sim/workload/graph/gradient_buckets.hpp"

#include <cmath>

namespace distsim::workload {
namespace {

std::vector<GradientBucket> one_bucket(std::span<const ReadyGradient> gradients) {
  GradientBucket all{0, static_cast<std::uint32_t>(gradients.size()), 0};
  for (const ReadyGradient& g : gradients) all.bytes += g.bytes;
  return gradients.empty() ? std::vector<GradientBucket>{} : std::vector<GradientBucket>{all};
}

std::vector<GradientBucket> bucket_each(std::span<const ReadyGradient> gradients) {
  std::vector<GradientBucket> out;
  for (std::uint32_t i = 0; i < gradients.size(); ++i) out.push_back({i, i + 1, gradients[i].bytes});
  return out;
}

}  // namespace

std::vector<GradientBucket> ddp_buckets(std::span<const ReadyGradient> gradients, std::int64_t first_limit,
                                        std::int64_t limit) {
  std::vector<GradientBucket> out;
  GradientBucket open;
  for (std::uint32_t i = 0; i < gradients.size(); ++i) {
    open.bytes += gradients[i].bytes;
    open.last = i + 1;
    if (open.bytes >= (out.empty() ? first_limit : limit)) {
      out.push_back(open);
      open = {i + 1, i + 1, 0};
    }
  }
  if (open.last > open.first) out.push_back(open);
  return out;
}

std::vector<GradientBucket> fusion_buckets(std::span<const ReadyGradient> gradients, std::int64_t buffer,
                                           double cycle) {
  CHECK(cycle > 0) << "fusion cycle " << cycle;
  std::vector<GradientBucket> out;
  if (gradients.empty()) return out;
  const double first = gradients.front().ready_seconds;
  GradientBucket open;
  double end = first + cycle / 2;
  for (std::uint32_t i = 0; i < gradients.size(); ++i) {
    const bool is_open = open.last > open.first;
    if (is_open && open.bytes + gradients[i].bytes > buffer) {
      out.push_back(open);
      open = {i, i, 0};
    }
    open.bytes += gradients[i].bytes;
    open.last = i + 1;
    const double ready = gradients[i].ready_seconds;
    if (ready < end) continue;
    out.push_back(open);
    open = {i + 1, i + 1, 0};
    end = first + (std::floor((ready - first) / cycle + 0.5) + 0.5) * cycle;
  }
  if (open.last > open.first) out.push_back(open);
  return out;
}

std::vector<GradientBucket> gradient_buckets(std::span<const ReadyGradient> gradients, const FrameworkSpec& f) {
  switch (f.gradients.sync) {
    case GradientSync::ddp_buckets:
      return ddp_buckets(gradients, f.gradients.first_bucket_size.value(), f.gradients.bucket_size.value());
    case GradientSync::fusion_buffer:
      return fusion_buckets(gradients, f.gradients.bucket_size.value(), f.gradients.fusion_cycle.seconds());
    case GradientSync::one_shot:
      return one_bucket(gradients);
    case GradientSync::per_tensor:
      return bucket_each(gradients);
  }
  CHECK(false) << "gradient sync " << static_cast<int>(f.gradients.sync);
  return {};
}

}  // namespace distsim::workload
