// Limits: what bounds an op on a device, and the least time that the hardware allows it.
//
// Three times of the op as one kernel on a perfect implementation:
//   matrix   FLOPs of its products / matrix rate of their type at the sustained clock (Winograd: 1.6 times fewer); of
//            fused attention what its kernel takes, softmax included (flash_attention.hpp), as that is far from perfect
//   vector   FLOPs of the rest / rate of the plain lanes at the sustained clock
//   memory   bytes that its kernels move / what the device streams; tensors that fit in L2 come from there (op_time.hpp)
// Of the time above an empty kernel's floor each takes its share as its fourth power, which is the derivative of
// `overlap` by that part, so that the shares are continuous where the bound changes. The rest is latency. Corrections go
// by the shares on the device as its file describes it: a what-if on one of its figures does not hand a kernel from one
// correction to another, which could make better hardware slower.
//   busy     what draws power, as parts of the op's time. Matrix units and lanes: their time / the longest of the three, of
//            the time above the floor; so they are busy all of it where they bound the op, whether or not tiles fill them
//            (clock trees, operand loads and waiting warps draw on) and whatever memory does meanwhile. Memory: its time.
//            Fp32 products on the plain lanes keep those busy
//   least    max(FLOPs / matrix rate, (bytes of operands and results - 2 L2) / streaming rate): what no correction goes below
// An embedding bag counts ids and pooled vectors only: rows may come from L2. Copies over PCIe, host work, given times
// and collectives have no limits of their own.
#pragma once

#include "opmodels/hardware/device_rates.hpp"
#include "sim/graph/cost.hpp"

namespace distsim::opmodels {

/// `cost` of `op` with its bound, its shares and its least time. The op has been priced on `device`.
graph::Cost with_limits(const DeviceRates& device, const graph::Op& op, graph::Cost cost);

/// Bytes of the op's operands and results, each once; of an embedding bag without the rows that it looks up. 0: not known.
double operand_and_result_bytes(const DeviceRates& device, const graph::Op& op);

/// Seconds that no kernel of the op is faster than: what it reads and writes at the memory's rate of the data sheet, as far as
/// L2 cannot hold it (least_memory_seconds), with an optimizer's state and the rows that an embedding bag reads.
double memory_takes(const DeviceRates& device, const graph::Op& op);

/// Whether the op cannot do with fewer operations than its formula has, as Winograd's convolution can. A scan may be worked
/// out in other chunks than it states.
bool has_no_shortcut(const graph::Op& op);

/// By how much a kernel may beat what the data sheet's rates allow it: better algorithms (Winograd's convolution), links
/// and memories above their usual rate, operands that a caller left in L2.
inline constexpr double kFasterThanRates = 2;

/// Seconds that no kernel of the op's products is faster than, with the margins that measured times have (possible_times.hpp):
/// its FLOPs at DeviceRates::most, with a shortcut a part of `least`. 0: it has none, or no peak is known.
double products_take(const DeviceRates& device, const graph::Op& op);

}  // namespace distsim::opmodels
