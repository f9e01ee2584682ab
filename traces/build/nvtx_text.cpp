#include "traces/build/nvtx_text.hpp"

#include <algorithm>

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
  const std::string_view rest = text.substr(sizes + kSizes.size());
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

void note_missing_ranges(TraceRank& rank) {
  const bool marked = std::ranges::any_of(
      rank.host_records, [](const HostRecord& r) { return r.kind == HostKind::annotation || r.kind == HostKind::op; });
  if (!marked)
    rank.notes.assume(
        "no NVTX range was recorded, so steps, layers and ops are unknown: mark them in the program (for PyTorch "
        "torch.autograd.profiler.emit_nvtx) and record with NVTX tracing on");
}

}  // namespace distsim::traces
