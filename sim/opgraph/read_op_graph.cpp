#include <zlib.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <new>

#include "base/file.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/opgraph/readers.hpp"

namespace distsim::opgraph {
namespace {

constexpr const GraphFormat* kFormats[] = {&captured_format, &execution_format};
constexpr std::size_t kMostText = std::size_t{1} << 30;  // simdjson holds about as much again
constexpr std::size_t kDeepest = 64;
constexpr std::size_t kChunk = std::size_t{1} << 18;
constexpr double kMostExpansion = 200;  // text of shapes that repeat shrinks by 20 to 60
constexpr double kAtOnce = 1 << 24;     // bytes that may shrink by more

class Expander {
 public:
  Expander() {
    const int code = inflateInit2(&z_, 15 + 16);  // 16: gzip headers
    if (code != Z_OK) throw std::bad_alloc();
  }
  ~Expander() { inflateEnd(&z_); }
  Expander(const Expander&) = delete;
  Expander& operator=(const Expander&) = delete;
  z_stream& stream() { return z_; }

 private:
  z_stream z_{};
};

Error too_large(const std::string& name) { return {"found more than 1 GiB of text, expected less", name, ""}; }

Result<std::string> expanded(const std::string& packed, const std::string& name) {
  Expander expander;
  z_stream& z = expander.stream();
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  z.avail_in = static_cast<uInt>(packed.size());
  std::string out;
  std::string chunk(kChunk, '\0');
  int state = Z_OK;
  double beyond = 0;  // text that shrank by more, less what shrank by less since
  while (state != Z_STREAM_END) {
    const uInt before = z.avail_in;
    z.next_out = reinterpret_cast<Bytef*>(chunk.data());
    z.avail_out = static_cast<uInt>(chunk.size());
    state = ::inflate(&z, Z_NO_FLUSH);
    if (state == Z_MEM_ERROR) throw std::bad_alloc();
    if (state != Z_OK && state != Z_STREAM_END)
      return Error{"found damaged or incomplete gzip data, expected a complete file", name, ""};
    out.append(chunk.data(), chunk.size() - z.avail_out);
    if (state == Z_STREAM_END && z.avail_in > 0) {
      // A file of several members is their texts one after the other.
      const bool another = z.avail_in >= 2 && z.next_in[0] == 0x1f && z.next_in[1] == 0x8b;
      if (!another)
        return Error{"found " + counted(z.avail_in, "byte") + " after the end of the gzip data, expected none", name,
                     ""};
      if (inflateReset(&z) != Z_OK) throw std::bad_alloc();
      state = Z_OK;
    }
    const double more = static_cast<double>(chunk.size() - z.avail_out), of = static_cast<double>(before - z.avail_in);
    beyond = std::max(0., beyond + more - kMostExpansion * of);
    const bool bomb = beyond > kAtOnce;
    if (bomb) return Error{"found text that expands to more than 200 times its size, expected less", name, ""};
    if (out.size() > kMostText) return too_large(name);
  }
  return out;
}

/// A call that works on a device, or may.
bool on_a_device(const OpGraph& graph, const Node& node) {
  if (node.work || node.communication) return true;
  bool any = false, on_device = false;
  const auto look = [&](std::uint32_t t) { any = true, on_device = on_device || !graph.tensors[t].on_host; };
  for (const Argument& a : node.inputs) std::ranges::for_each(a.tensors, look);
  std::ranges::for_each(node.outputs, look);
  return on_device || !any;
}

/// A graph of calls of the host alone has nothing that takes time on a GPU.
Result<OpGraph> with_work(Result<OpGraph> graph, const std::string& name) {
  if (!graph.ok() || graph->nodes.empty()) return graph;
  if (std::ranges::any_of(graph->nodes, [&](const Node& n) { return on_a_device(*graph, n); })) return graph;
  return Error{"found " + counted(graph->nodes.size(), "call") +
                   ", all of whose tensors are on the host, expected calls on a GPU",
               name, ""};
}

}  // namespace

std::string list_of_formats() {
  std::string out;
  for (const GraphFormat* format : kFormats) out += (out.empty() ? "a " : ", a ") + std::string(format->name);
  return out + ", a Chakra trace or an ONNX model";
}

bool missing(simdjson::error_code error) {
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  return error != simdjson::SUCCESS;
}

Error node_error(const std::string& file, const std::string& node, const std::string& what) {
  return {printable(node, 120) + ": " + what, file, ""};
}

Result<OpGraph> parse_op_graph(std::string text, const std::string& name, const GraphOptions& options) {
  if (text.size() >= 2 && text[0] == '\x1f' && text[1] == '\x8b') {
    TRY_ASSIGN(text, expanded(text, name));
  }
  if (text.size() > kMostText) return too_large(name);
  if (sniff_onnx(text)) return read_onnx(text, name, options);
  if (sniff_chakra(text)) {
    TRY_ASSIGN(text, chakra_as_execution_trace(text, name));
  }
  simdjson::dom::parser parser;
  if (missing(parser.allocate(text.size() + 1, kDeepest))) throw std::bad_alloc();
  simdjson::dom::element document;
  const simdjson::error_code error = parser.parse(text).get(document);
  if (missing(error)) {
    const std::string what =
        error == simdjson::DEPTH_ERROR ? "found JSON nested more than 64 deep" : "found no valid JSON";
    return Error{what + ", expected " + list_of_formats(), name, ""};
  }
  simdjson::dom::object object;
  if (!missing(document.get_object().get(object))) {
    for (const GraphFormat* format : kFormats) {
      if (format->sniff(object)) return with_work(format->read(object, name), name);
    }
  }
  return Error{"found JSON of another kind, expected " + list_of_formats(), name, ""};
}

Result<OpGraph> read_op_graph(const std::string& path, const GraphOptions& options) {
  TRY_ASSIGN(std::string text, read_file(path, kMostText));
  return parse_op_graph(std::move(text), path, options);
}

std::string node_with(const OpGraph& graph, std::uint32_t tensor) {
  const auto is = [&](std::uint32_t t) { return t == tensor; };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (std::ranges::any_of(node.outputs, is) ||
        std::ranges::any_of(node.inputs, [&](const Argument& a) { return std::ranges::any_of(a.tensors, is); }))
      return "node " + std::to_string(i) + " (" + node.op + ", " + node.label + ")";
  }
  return "tensor " + std::to_string(tensor);
}

}  // namespace distsim::opgraph
