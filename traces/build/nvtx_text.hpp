// The texts of NVTX ranges, which nsys and nvprof record alike.
#pragma once

#include <string>
#include <string_view>

#include "traces/build/op_inputs.hpp"
#include "traces/trace.hpp"

namespace distsim::traces {

struct NvtxText {
  std::string name;
  std::string sizes, types;              ///< "[[8, 3], [4]]" and "[\"float16\", \"\"]" where the text holds them
  HostKind kind = HostKind::annotation;  ///< op: written by PyTorch's emit_nvtx, PyProf or DLProf; python: a call stack
};

/// PyTorch's emit_nvtx: "aten::mul, op_id = 322567, seq = 12, sizes = [[8, 3], [4]]" -> op aten::mul.
/// PyProf and DLProf, whose texts are Python dictionaries: {'mod': 'torch', 'op': 'mm', 'args': [{'type': 'tensor',
/// 'shape': (8, 3), 'dtype': 'float16'}, ...]} -> op torch.mm; {'mod': 'Linear', 'strRepr': 'in_features=8, ...'} ->
/// annotation Linear(in_features=8, ...), a layer; {'traceMarker': ['train.py:12', ...]} -> python.
/// Source of the latter: NVIDIA/PyProf, pyprof/nvtx/nvmarker.py. Any other text is the name of an annotation.
NvtxText nvtx_text(std::string_view text);

/// What a range says of the record that stands for it: kind, name and arguments.
void describe_range(const NvtxText& range, TraceJob& job, OpInputTable& inputs, HostRecord& record);

/// Says so where a rank has GPU work but no range: nothing marks its steps and layers.
void note_missing_ranges(TraceRank& rank);

}  // namespace distsim::traces
