// Operations of attention ops, from their recorded shapes and flags.
#pragma once

#include <optional>
#include <string_view>

#include "traces/trace.hpp"

namespace distsim::profile {

/// FLOP of an attention op of PyTorch (`aten::...`) or of the package flash_attn (`flash_attn::...`); nothing: it is no such
/// op; 0: not known, as of sequences of several lengths or with a window. For each pair of a query and a key that the mask
/// of a causal op leaves, and each query head: 2 (Dqk + Dv), in the backward pass 2 (3 Dqk + 2 Dv), as it computes the
/// scores again (Dao et al. 2022, FlashAttention; benchmarks there count causal attention likewise). A mask that is a
/// tensor, and causal attention whose flag was not recorded, count in full.
std::optional<double> attention_flops(std::string_view name, const traces::OpInputs& inputs);

}  // namespace distsim::profile
