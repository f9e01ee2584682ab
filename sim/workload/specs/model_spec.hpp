// ModelSpec: what is trained, as in configs/models/<name>.yaml: keys that every family has, and the section of the
// family that `kind` names.
#pragma once

#include <any>
#include <map>
#include <string>
#include <typeindex>

#include "base/config/schema.hpp"
#include "sim/graph/op.hpp"
#include "sim/workload/specs/parallel_spec.hpp"

namespace distsim::workload {

struct ModelFamily;

/// From fp16 on: mixed precision with fp32 master weights. Those of 8 and 4 bits differ in the scaling of the operands
/// (graph::Scaling); fp8 is scaled by tensor with factors of the steps before (delayed).
enum class Precision : std::uint8_t { fp32, tf32, fp16, bf16, fp8, fp8_current, fp8_blockwise, mxfp8, nvfp4 };
std::string_view name_of(Precision precision);
/// Of the device's peak that its products run at: "fp8" for all of 8 bits.
std::string_view peak_of(Precision precision);

struct ModelSpec {
  std::string name;
  std::string description;
  const ModelFamily* family = nullptr;  ///< named by `kind`
  std::int64_t global_batch = 0;
  std::int64_t per_gpu_batch = 0;
  bool memory_check = true;
  std::int64_t accumulation = 1;
  Precision precision = Precision::fp16;
  graph::OptimizerKind optimizer = graph::OptimizerKind::sgd;
  std::string source;
  ParallelSpec parallel;  ///< of the file's section `parallel`, or the experiment's, which replaces its keys

  std::string shown_name() const;  ///< its name; of a model without one, its family's

  /// The section of a family by its type, e.g. as<DlrmSpec>(): its defaults until something is written to it. So that a
  /// new family adds no member here.
  template <class Spec>
  Spec& as() {
    std::any& section = sections_[typeid(Spec)];
    if (!section.has_value()) section.emplace<Spec>();
    return *std::any_cast<Spec>(&section);
  }
  template <class Spec>
  const Spec& as() const {
    static const Spec defaults;
    const auto it = sections_.find(typeid(Spec));
    return it == sections_.end() ? defaults : *std::any_cast<Spec>(&it->second);
  }

 private:
  std::map<std::type_index, std::any> sections_;
};

Schema<ModelSpec> model_schema();

}  // namespace distsim::workload
