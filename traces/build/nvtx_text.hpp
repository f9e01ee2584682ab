// The texts of NVTX ranges, which nsys and nvprof record alike.
#pragma once

#include <string_view>

#include "traces/trace.hpp"

namespace distsim::traces {

struct NvtxText {
  std::string_view name;
  std::string_view sizes;  ///< "[[8, 3], [4]]" where the text holds them
  bool is_op = false;      ///< written by PyTorch's emit_nvtx
};

/// "aten::mul, op_id = 322567, seq = 12, sizes = [[8, 3], [4]]" -> name aten::mul; any other text is a name as it is.
NvtxText nvtx_text(std::string_view text);

/// Says so where a rank has GPU work but no range: nothing marks its steps and layers.
void note_missing_ranges(TraceRank& rank);

}  // namespace distsim::traces
