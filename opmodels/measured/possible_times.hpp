// Times that no kernel of a device can have taken.
#pragma once

#include <string>
#include <string_view>

#include "opmodels/csv/op_row.hpp"
#include "opmodels/hardware/device_rates.hpp"
#include "sim/graph/cost.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::opmodels {

/// A kernel that takes so many times what the models say is not merely inefficient; milliseconds or nanoseconds are meant.
/// Chosen.
inline constexpr double kOpTimesTooLong = 100;

/// What is said of a row whose kernels took `seconds`, so many times the `models` seconds.
std::string too_long_text(double seconds, double models);

/// The refusal of a file most of whose rows took too long, of which `first` is one.
Error most_too_long(const std::string& first, std::size_t too_long, std::size_t rows);

/// Seconds that the device's rates allow the op at least: its products at the sustained clock, what does not fit in L2 from
/// memory, and all of its bytes through L2, rows of embeddings as often as they are looked up (they may be hot). Copies
/// between host and device run at the rate of their link, which cost models take as it is.
double least_time(const DeviceRates& device, const graph::Op& op, const graph::Cost& cost);

/// Error: an SM clock above boost.
Result<void> check_clock(const topology::DeviceSpec& device, Hertz clock);

/// Error: kernels of a row that together took `seconds`, faster than the data sheet's rate for a product of this type
/// (product_peak; at `clock`, where it is above 0 and below boost, in proportion), or than half of `least`, the least_time of
/// its first op, or the shortest kernel; an SM clock above boost. `launch`: seconds of the row's time that were taken off
/// before (host_share), which the error names.
Result<void> check_possible(const topology::DeviceSpec& device, const OpRow& row, std::string_view dtype, double least,
                            double seconds, double launch, Hertz clock = Hertz(0));

}  // namespace distsim::opmodels
