// Texts of NVTX ranges.
#pragma once

#include <string>
#include <string_view>

namespace distsim::traces {

struct NvtxText {
  std::string_view name;
  std::string_view sizes;  ///< "[[8, 3], [4]]" where the text holds them
  bool is_op = false;      ///< written by PyTorch's emit_nvtx
};

/// "aten::mul, op_id = 322567, seq = 12, sizes = [[8, 3], [4]]" -> name aten::mul; any other text is a name as it
/// stands.
NvtxText nvtx_text(std::string_view text);

}  // namespace distsim::traces
