#include "traces/build/nvtx_text.hpp"

#include <algorithm>

namespace distsim::traces {

namespace {

/// What follows `'key': ` or `"key": ` in a Python dictionary; empty where there is no such key.
std::string_view after_key(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    const std::size_t end = at + key.size();
    if (at == 0 || end + 1 >= text.size() || text[end] != text[at - 1] || text[end + 1] != ':') continue;
    if (text[end] != '\'' && text[end] != '"') continue;
    const std::size_t value = text.find_first_not_of(' ', end + 2);
    return value == std::string_view::npos ? std::string_view{} : text.substr(value);
  }
  return {};
}

/// The text between the quotes that `value` begins with, up to the first quote of that kind that is not escaped.
std::string_view quoted(std::string_view value) {
  if (value.empty() || (value[0] != '\'' && value[0] != '"')) return {};
  for (std::size_t i = 1; i < value.size(); ++i) {
    if (value[i] == '\\')
      ++i;
    else if (value[i] == value[0])
      return value.substr(1, i - 1);
  }
  return {};
}

/// (64, 3, 7) or [64, 3, 7] as a JSON array; empty for what is no list of numbers.
std::string number_list(std::string_view value) {
  const std::size_t end = value.find_first_of(")]");
  if (value.empty() || (value[0] != '(' && value[0] != '[') || end == std::string_view::npos) return {};
  std::string_view inside = value.substr(1, end - 1);
  if (inside.find_first_not_of("0123456789, ") != std::string_view::npos) return {};
  const std::size_t last = inside.find_last_of("0123456789");  // (8,) has a comma behind its only number
  return "[" + std::string(last == std::string_view::npos ? std::string_view{} : inside.substr(0, last + 1)) + "]";
}

/// Shapes and types of the arguments, in order.
void read_arguments(std::string_view arguments, NvtxText& out) {
  std::string sizes, types;
  while (!(arguments = after_key(arguments, "shape")).empty()) {
    const std::string dims = number_list(arguments);
    const std::string_view here = arguments.substr(0, arguments.find('}'));
    if (dims.empty()) return;
    sizes += (sizes.empty() ? "" : ", ") + dims;
    types += std::string(types.empty() ? "\"" : ", \"").append(quoted(after_key(here, "dtype"))) + '"';
  }
  if (sizes.empty()) return;
  out.sizes = "[" + sizes + "]";
  out.types = "[" + types + "]";
}

/// A marker of PyProf or DLProf; false for any other text.
bool read_marker(std::string_view text, NvtxText& out) {
  if (!text.starts_with("{")) return false;
  if (!after_key(text, "traceMarker").empty()) {
    out.kind = HostKind::python;
    out.name = "call stack";
    return true;
  }
  const std::string_view module = quoted(after_key(text, "mod")), op = quoted(after_key(text, "op"));
  if (module.empty()) return false;
  if (op.empty()) {
    const std::string_view details = after_key(text, "strRepr");
    if (details.empty()) return false;
    out.name = std::string(module).append("(").append(quoted(details)).append(")");
    return true;
  }
  out.kind = HostKind::op;
  out.name = std::string(module).append(".").append(op);
  read_arguments(after_key(text, "args"), out);
  return true;
}

/// The bracketed list that `text` begins with.
std::string_view first_list(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']' && --depth == 0) return text.substr(0, i + 1);
  }
  return {};
}

}  // namespace

NvtxText nvtx_text(std::string_view text) {
  NvtxText out;
  if (read_marker(text, out)) return out;
  out.name = text;
  const std::size_t op = text.find(", op_id = "), seq = text.find(", seq = ");
  if (op == std::string_view::npos && seq == std::string_view::npos) return out;
  out.kind = HostKind::op;
  out.name = text.substr(0, std::min(op, seq));
  constexpr std::string_view kSizes = ", sizes = ";
  const std::size_t sizes = text.find(kSizes);
  if (sizes != std::string_view::npos) out.sizes = first_list(text.substr(sizes + kSizes.size()));
  return out;
}

void describe_range(const NvtxText& range, TraceJob& job, OpInputTable& inputs, HostRecord& record) {
  record.kind = range.kind;
  record.name = job.names.intern(range.name);
  if (!range.sizes.empty()) record.inputs = inputs.intern(range.sizes, range.types, "");
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
