#include "traces/nsight/nvtx_text.hpp"

namespace distsim::traces {

NvtxText nvtx_text(std::string_view text) {
  NvtxText out;
  out.name = text;
  const std::size_t op = text.find(", op_id = "), seq = text.find(", seq = ");
  if (op == std::string_view::npos && seq == std::string_view::npos) return out;
  out.is_op = true;
  out.name = text.substr(0, std::min(op, seq));
  constexpr std::string_view kSizes = ", sizes = ";
  const std::size_t sizes = text.find(kSizes);
  if (sizes == std::string_view::npos) return out;
  std::string_view rest = text.substr(sizes + kSizes.size());
  int depth = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '[') ++depth;
    if (rest[i] == ']' && --depth == 0) {
      out.sizes = rest.substr(0, i + 1);
      break;
    }
  }
  return out;
}

}  // namespace distsim::traces
