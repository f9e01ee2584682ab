// The model families that distsim can build, for `distsim list models` and build_workload.
#pragma once

#include <span>
#include <string_view>

#include "sim/workload/specs/samples.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::workload {

using WorkloadBuilder = Result<Workload> (*)(const ModelSpec&, const FrameworkSpec&, const ClusterShape&,
                                             const SamplePlan&);

struct ModelFamily {
  ModelKind kind;
  std::string_view name;  ///< as in `kind:` of configs/models
  std::string_view sentence;
  WorkloadBuilder build;
};

std::span<const ModelFamily> workload_registry();

Result<Workload> build_dlrm(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                            const SamplePlan& samples);
Result<Workload> build_resnet(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                              const SamplePlan& samples);
Result<Workload> build_transformer(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                                   const SamplePlan& samples);
Result<Workload> build_mlp(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                           const SamplePlan& samples);
Result<Workload> build_transformer_xl(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                                      const SamplePlan& samples);
Result<Workload> build_ssd(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                           const SamplePlan& samples);
Result<Workload> build_ncf(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                           const SamplePlan& samples);
Result<Workload> build_program(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                               const SamplePlan& samples);
Result<Workload> build_megatron(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                                const SamplePlan& samples);

}  // namespace distsim::workload
