// How long a kernel of a trace would take on another device: measured time x predicted ratio (basis: scaled).
//
//   matrix kernel, shape recorded      ratio of the op models' predictions for that shape on both devices
//   matrix kernel, shape unknown       ratio of the peak rates of its data type at sustained clocks
//   anything else on the device        ratio of memory bandwidths, for the time above the shortest kernel that a device
//   can run:
//                                      t' = floor' + (t - floor) x ratio;  where t <= floor: t x floor' / floor
//   copies between host and device     ratio of PCIe bandwidths
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "opmodels/op_models.hpp"
#include "sim/replay/whatif/kernel_kind.hpp"

namespace distsim::replay {

class DeviceRatio {
 public:
  /// Both must outlive this.
  DeviceRatio(const opmodels::OpModels& from, const opmodels::OpModels& to) : from_(from), to_(to) {}

  /// Picoseconds on `to` of a record that took `ps` on `from`.
  std::int64_t scaled(const traces::TraceJob& job, const traces::TraceRank& rank, const traces::DeviceRecord& record,
                      std::int64_t ps);

  std::uint64_t by_shape() const { return by_shape_; }  ///< matrix kernels priced by their shape
  std::uint64_t by_peak() const { return by_peak_; }    ///< matrix kernels whose shape was not recorded
  std::uint64_t by_memory() const { return by_memory_; }

 private:
  double matrix_ratio(const traces::TraceJob& job, const traces::TraceRank& rank, const traces::DeviceRecord& record);
  double shape_ratio(const graph::Op& op);
  double peak_ratio(graph::DType dtype) const;

  const opmodels::OpModels& from_;
  const opmodels::OpModels& to_;
  std::map<std::string, double> known_;  ///< by shape in words; 0: cannot be priced on one of them
  std::uint64_t by_shape_ = 0, by_peak_ = 0, by_memory_ = 0;
};

}  // namespace distsim::replay
