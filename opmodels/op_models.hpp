// OpModels: the cost of one op on one device. Pure and const: the same op costs the same to the bit.
//
// Convention: a Cost is pure kernel time on an otherwise idle GPU with a cold-to-warm L2 as in a training step, without
// host time and without the gap before the kernel. An op that is several kernels costs their sum.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "sim/graph/cost.hpp"
#include "sim/graph/op.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::opmodels {

class LearnedModels;
class MeasuredTable;
struct DeviceRates;

class OpModels {
 public:
  /// `learned`: the learned models (learned_models.hpp); none: analytic models only.
  /// `measured`: measured times of this GPU (measured_table.hpp); none: models only.
  /// `like`: other models, of any GPU; where they are learned from the same, what they have worked out is not worked out
  /// again. The prices are the same without.
  static Result<OpModels> create(const topology::DeviceSpec& device,
                                 std::shared_ptr<const LearnedModels> learned = nullptr,
                                 std::shared_ptr<const MeasuredTable> measured = nullptr,
                                 const OpModels* like = nullptr);

  /// Cost of one op. Errors: zero or negative dims, products over 2^62, a data type that the device does not have ("fp8
  /// on v100_sxm2: ..."), Collective (priced elsewhere). `warm`: the operands that fit are in L2 already, as in a
  /// benchmark that repeats one call; a training step's are not.
  /// At the clock before power limits (DeviceSpec::clock.burst), as in a short benchmark or a light mix of kernels.
  Result<graph::Cost> price(const graph::Op& op, bool warm = false) const;

  /// The same of an op that runs again and again for seconds, at the clock that it leaves the device within its power
  /// limit (topology::clock_of_mix). A measured time that this clock changes is `scaled`.
  Result<graph::Cost> price_steady(const graph::Op& op, bool warm = false) const;

  /// Whether every op has the same price as by `other`, because all that prices depend on is equal.
  bool prices_as(const OpModels& other) const;

  const topology::DeviceSpec& device() const;
  const DeviceRates& rates(bool warm = false) const;
  const std::shared_ptr<const MeasuredTable>& measured() const;

 private:
  struct Impl;
  explicit OpModels(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// The device that a table of measured ops is of: as its file describes it, at free clocks.
topology::DeviceSpec measured_device(const topology::DeviceSpec& device);

/// One line of the registry: what `distsim list ops` prints.
struct OpModelInfo {
  std::string_view kind;      ///< "gemm"
  std::string_view sentence;  ///< what the model does, in one sentence
};
std::span<const OpModelInfo> op_model_registry();

}  // namespace distsim::opmodels
