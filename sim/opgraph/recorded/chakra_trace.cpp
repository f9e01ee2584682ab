// Chakra execution traces (.et) of PyTorch jobs as op graphs: the fields of their nodes are those of PyTorch's execution
// traces, so that they become such a trace, whose reader does the rest. Kernels beside the calls that launched them are
// left out: the calls are priced.
//
// Schema: MLCommons Chakra, schema/protobuf/et_def.proto. Files of the old layout, without a version, have the outermost
// calls alone, and name callers by numbers that they have not kept.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/text/counted.hpp"
#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"
#include "sim/opgraph/readers.hpp"

namespace distsim::opgraph {
namespace {

using google::protobuf::io::CodedInputStream;
using Wire = google::protobuf::internal::WireFormatLite;

/// Of AttributeProto.
enum ValueField : std::uint8_t {
  kDoubleValue = 3,
  kFloatValue = 5,
  kUint64Value = 13,
  kSint32Value = 15,
  kSint64Value = 17,
  kFixed32Value = 19,
  kFixed64Value = 21,
  kStringValue = 29,
  kBytesValue = 31
};
enum NodeType : std::uint8_t {
  kMetadata = 1,
  kLoad = 2,
  kStore = 3,
  kCompute = 4,
  kSend = 5,
  kReceive = 6,
  kCollective = 7
};

/// Names of record_param_comms for CollectiveCommType.
constexpr std::string_view kCommNames[] = {"allreduce", "reduce",     "allgather",      "gather",         "scatter",
                                           "broadcast", "all_to_all", "reduce_scatter", "reduce_scatter", "barrier"};

constexpr auto kVarint = Wire::WIRETYPE_VARINT;
constexpr auto kBytes = Wire::WIRETYPE_LENGTH_DELIMITED;
constexpr std::uint32_t tag(int field, Wire::WireType type) { return static_cast<std::uint32_t>(field) << 3 | type; }

struct EtNode {
  std::uint64_t id = 0, type = 0, micros = 0;
  std::vector<std::uint64_t> control, data;  ///< nodes that it depends on
  bool on_host = false, states_host = false;
  std::string_view name, group;
  std::string_view values[2], shapes[2], types[2];  ///< inputs, outputs
  std::int64_t operations = 0, bytes = 0, comm_type = -1, comm_bytes = -1;
  std::string unreadable;  ///< why an attribute cannot be read; empty: all can

  bool is_comm() const { return type == kCollective || type == kSend || type == kReceive; }
  bool computes() const { return type == kCompute || type == kLoad || type == kStore; }
  bool has_arguments() const { return values[0].find_first_not_of("[]() \t\n") != std::string_view::npos; }
  /// Its operations and bytes stand for it: none of PyTorch's calls, whose control dependencies are their callers.
  bool is_stated() const { return computes() && !has_arguments() && (operations > 0 || bytes > 0); }
  std::string_view kind() const {
    const bool known =
        type == kCollective && comm_type >= 0 && static_cast<std::size_t>(comm_type) < std::size(kCommNames);
    return known              ? kCommNames[static_cast<std::size_t>(comm_type)]
           : type == kSend    ? "send"
           : type == kReceive ? "recv"
                              : "unknown";
  }
  bool is_priced() const {
    return type == kCollective && kind() != "unknown" && (comm_bytes > 0 || kind() == "barrier");
  }
};

CodedInputStream over(std::string_view bytes) {
  return CodedInputStream(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
}

bool read_piece(CodedInputStream& in, std::string_view& out) {
  std::uint32_t size = 0;
  const void* data = nullptr;
  int at_hand = 0;
  out = {};
  if (!in.ReadVarint32(&size)) return false;
  if (size == 0) return true;
  if (size > std::uint32_t{std::numeric_limits<int>::max()} || !in.GetDirectBufferPointer(&data, &at_hand) ||
      static_cast<int>(size) > at_hand)
    return false;
  out = std::string_view(static_cast<const char*>(data), size);
  return in.Skip(static_cast<int>(size));
}

/// values, shapes and types of one side.
bool read_side(std::string_view bytes, EtNode& node, std::size_t side) {
  CodedInputStream in = over(bytes);
  while (const std::uint32_t t = in.ReadTag()) {
    const bool ok = t == tag(1, kBytes)   ? read_piece(in, node.values[side])
                    : t == tag(2, kBytes) ? read_piece(in, node.shapes[side])
                    : t == tag(3, kBytes) ? read_piece(in, node.types[side])
                                          : Wire::SkipField(&in, t);
    if (!ok) return false;
  }
  return in.ConsumedEntireMessage();
}

/// The value of an attribute. Numbers come as any of the schema's types.
struct EtValue {
  std::string_view text;
  std::optional<std::int64_t> number;  ///< also of a real or a text that is exactly a whole number
};

bool read_et_value(CodedInputStream& in, std::uint32_t t, EtValue& out) {
  std::uint64_t wide = 0;
  std::uint32_t narrow = 0;
  const auto natural = [&out](std::uint64_t value) {
    out.number = value <= INT64_MAX ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
  };
  const int field = Wire::GetTagFieldNumber(t);
  if (t == tag(kStringValue, kBytes) || t == tag(kBytesValue, kBytes)) {
    if (!read_piece(in, out.text)) return false;
    out.number = exact_integer(out.text);
  } else if (Wire::GetTagWireType(t) == kVarint) {
    if (!in.ReadVarint64(&wide)) return false;
    if (field == kUint64Value)
      natural(wide);
    else
      out.number =
          field == kSint32Value || field == kSint64Value ? Wire::ZigZagDecode64(wide) : static_cast<std::int64_t>(wide);
  } else if (Wire::GetTagWireType(t) == Wire::WIRETYPE_FIXED64) {
    if (!in.ReadLittleEndian64(&wide)) return false;
    if (field == kFixed64Value)
      natural(wide);
    else
      out.number = field == kDoubleValue ? exact_integer(Wire::DecodeDouble(wide)) : static_cast<std::int64_t>(wide);
  } else if (Wire::GetTagWireType(t) == Wire::WIRETYPE_FIXED32) {
    if (!in.ReadLittleEndian32(&narrow)) return false;
    if (field == kFixed32Value)
      natural(narrow);
    else
      out.number = field == kFloatValue ? exact_integer(static_cast<double>(Wire::DecodeFloat(narrow)))
                                        : std::optional<std::int64_t>(static_cast<std::int32_t>(narrow));
  } else {
    return Wire::SkipField(&in, t);
  }
  return true;
}

/// A collective by its name, "ALL_GATHER" as "allgather".
std::optional<std::int64_t> comm_named(std::string_view text) {
  const auto plain = [](std::string_view word) {
    std::string out;
    for (const char c : word) {
      if (c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return out;
  };
  for (std::size_t i = 0; i < std::size(kCommNames) && !text.empty(); ++i) {
    if (plain(kCommNames[i]) == plain(text)) return static_cast<std::int64_t>(i);
  }
  return std::nullopt;
}

bool read_et_attribute(std::string_view bytes, EtNode& node) {
  CodedInputStream in = over(bytes);
  std::string_view name;
  EtValue value;
  while (const std::uint32_t t = in.ReadTag()) {
    if (!(t == tag(1, kBytes) ? read_piece(in, name) : read_et_value(in, t, value))) return false;
  }
  if (name == "pg_name") node.group = value.text;
  if (name == "comm_type" && !value.number) value.number = comm_named(value.text);
  if (name == "is_cpu_op") node.states_host = true;
  std::int64_t host = 0;
  std::int64_t* const place = name == "is_cpu_op"     ? &host
                              : name == "num_ops"     ? &node.operations
                              : name == "tensor_size" ? &node.bytes
                              : name == "comm_type"   ? &node.comm_type
                              : name == "comm_size"   ? &node.comm_bytes
                                                      : nullptr;
  if (place != nullptr && !value.number && node.unreadable.empty())
    node.unreadable = std::string(name) + ": found " +
                      (value.text.empty() ? "no whole number" : in_quotes(value.text)) + ", expected a whole number";
  if (place != nullptr) *place = value.number.value_or(0);
  node.on_host = node.on_host || host != 0;
  return in.ConsumedEntireMessage();
}

bool read_deps(CodedInputStream& in, std::uint32_t t, std::vector<std::uint64_t>& deps) {
  std::uint64_t id = 0;
  if (Wire::GetTagWireType(t) == kVarint) {
    if (!in.ReadVarint64(&id)) return false;
    deps.push_back(id);
    return true;
  }
  std::string_view packed;
  if (!read_piece(in, packed)) return false;
  CodedInputStream ids = over(packed);
  while (ids.CurrentPosition() < static_cast<int>(packed.size())) {
    if (!ids.ReadVarint64(&id)) return false;
    deps.push_back(id);
  }
  return true;
}

bool read_et_node(std::string_view bytes, EtNode& node) {
  CodedInputStream in = over(bytes);
  while (const std::uint32_t t = in.ReadTag()) {
    bool ok = true;
    std::string_view piece;
    switch (t) {
      case tag(1, kVarint):
        ok = in.ReadVarint64(&node.id);
        break;
      case tag(2, kBytes):
        ok = read_piece(in, node.name);
        break;
      case tag(3, kVarint):
        ok = in.ReadVarint64(&node.type);
        break;
      case tag(4, kBytes):
      case tag(4, kVarint):
        ok = read_deps(in, t, node.control);
        break;
      case tag(5, kBytes):
      case tag(5, kVarint):
        ok = read_deps(in, t, node.data);
        break;
      case tag(7, kVarint):
        ok = in.ReadVarint64(&node.micros);
        break;
      case tag(8, kBytes):
      case tag(9, kBytes):
        ok = read_piece(in, piece) && read_side(piece, node, t == tag(8, kBytes) ? 0 : 1);
        break;
      case tag(10, kBytes):
        ok = read_piece(in, piece) && read_et_attribute(piece, node);
        break;
      default:
        ok = Wire::SkipField(&in, t);
    }
    if (!ok) return false;
  }
  return in.ConsumedEntireMessage();
}

/// Whether it is the message of a file's head: a version and attributes, nothing else.
bool is_head(std::string_view bytes, bool& versioned) {
  CodedInputStream in = over(bytes);
  std::string_view piece;
  while (const std::uint32_t t = in.ReadTag()) {
    if (t != tag(1, kBytes) && t != tag(2, kBytes)) return false;
    if (!read_piece(in, piece)) return false;
    versioned = versioned || t == tag(1, kBytes);
  }
  return in.ConsumedEntireMessage();
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + '"';
}

bool is_delimiter(char c) { return std::string_view("[](){},:'\" \t\n").find(c) != std::string_view::npos; }

/// True, False and numbers as JSON has them; anything else, None and infinities among it, is null.
std::string json_of_word(std::string_view word) {
  if (word == "True" || word == "true") return "true";
  if (word == "False" || word == "false") return "false";
  std::int64_t whole = 0;
  double number = 0;
  const char* const end = word.data() + word.size();
  if (std::from_chars(word.data(), end, whole).ptr == end && !word.empty()) return std::to_string(whole);
  const auto read = std::from_chars(word.data(), end, number);
  if (read.ptr != end || read.ec != std::errc() || !std::isfinite(number)) return "null";
  char text[40];
  const auto written = std::to_chars(text, text + sizeof(text), number);
  return std::string(text, written.ptr);
}

/// JSON of what Python prints of lists of numbers, texts, True, False and None.
std::string json_of(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\'' || c == '"') {
      std::string word;
      for (++i; i < text.size() && text[i] != c; ++i) {
        if (text[i] == '\\' && i + 1 < text.size()) ++i;
        word += text[i];
      }
      ++i;
      out += json_text(word);
    } else if (is_delimiter(c)) {
      out += c == '(' ? '[' : c == ')' ? ']' : c;
      ++i;
    } else {
      const std::size_t begin = i;
      while (i < text.size() && !is_delimiter(text[i])) ++i;
      out += json_of_word(text.substr(begin, i - begin));
    }
  }
  return out.empty() ? "[]" : out;
}

/// "aten::conv2d" of "aten::conv2d(1)", a piece of a call that is interrupted by its kernels; and which piece it is.
std::string_view whole_name(std::string_view name, std::uint64_t& piece) {
  piece = 0;
  if (!name.ends_with(")")) return name;
  const std::size_t open = name.rfind('(');
  if (open == name.npos || open + 2 > name.size() - 1) return name;
  for (std::size_t i = open + 1; i + 1 < name.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(name[i])) == 0 || name.size() - open > 8) return name;
    piece = piece * 10 + static_cast<std::uint64_t>(name[i] - '0');
  }
  return name.substr(0, open);
}

class EtConverter {
 public:
  EtConverter(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  Result<std::string> convert() {
    CodedInputStream in = over(bytes_);
    std::string_view message;
    if (!read_piece(in, message) || !is_head(message, versioned_))
      return Error{"byte 0: found no metadata, expected those at the start of a Chakra trace", file_, ""};
    while (in.CurrentPosition() < static_cast<int>(bytes_.size())) {
      const int offset = in.CurrentPosition();
      EtNode node;
      if (!read_piece(in, message) || !read_et_node(message, node))
        return Error{"byte " + std::to_string(offset) + ": found a damaged or incomplete message, expected a node",
                     file_, ""};
      if (!node.unreadable.empty()) return Error{"node " + std::to_string(node.id) + ": " + node.unreadable, file_, ""};
      if (node.type > kCollective)
        return Error{"node " + std::to_string(node.id) + ": type: found " + std::to_string(node.type) +
                         ", expected a node type from 0 to 7",
                     file_, ""};
      if (nodes_.size() >= kMostNodes) return Error{"found more than 2,000,000 nodes, expected fewer", file_, ""};
      const bool call = node.type == kCompute && (node.on_host || !node.states_host);
      has_calls_ = has_calls_ || (call && !node.values[0].empty());
      calls_collectives_ = calls_collectives_ || (call && node.name.starts_with("record_param_comms"));
      const bool shaped = node.shapes[0].find_first_of("0123456789") != node.shapes[0].npos;
      has_shapes_ = has_shapes_ || shaped || node.operations > 0 || node.bytes > 0;
      bare_ += node.type == kCompute && node.micros > 0 ? 1 : 0;
      nodes_.push_back(node);
    }
    if (bare_ > 0 && !has_shapes_)
      return Error{
          "found " + counted(bare_, "node") + " with times and no shapes of tensors, expected calls with shapes", file_,
          "`distsim replay` without --priced plays the times of all ranks"};
    std::ranges::stable_sort(nodes_, {}, &EtNode::id);  // in the order in which they began
    TRY(find_waits());
    for (const EtNode& node : nodes_) add(node);
    return "{\"schema\":\"Chakra\",\"idle\":" + std::to_string(idle_) + ",\"nodes\":[" + out_ + "]}";
  }

 private:
  /// Of each node the last collective that it depends on, itself or by others: they run one after the other, so that the
  /// earlier ones are then over as well.
  Result<void> find_waits() {
    for (const EtNode& node : nodes_) {
      std::optional<std::uint64_t> last;
      for (const std::uint64_t dep : deps_of(node)) {
        if (const auto at = waits_.find(dep); at != waits_.end() && dep < node.id)
          last = std::max(last, std::optional(at->second));
        else if (dep >= node.id && !has_calls_ && (node.computes() || node.is_comm()) && has(dep))
          return Error{"node " + std::to_string(node.id) + ": found a dependency on node " + std::to_string(dep) +
                           ", expected dependencies on nodes of lower numbers: a graph runs in the order of numbers",
                       file_, ""};
      }
      const bool runs = node.is_priced() && !(has_calls_ && node.on_host) && !(is_kernel(node) && calls_collectives_);
      if (runs) last = node.id;
      if (last) waits_[node.id] = *last;
    }
    return {};
  }

  /// Control dependencies of the old layout are numbers of callers that it has not kept.
  std::vector<std::uint64_t> deps_of(const EtNode& node) const {
    std::vector<std::uint64_t> out = node.data;
    if (versioned_) out.insert(out.end(), node.control.begin(), node.control.end());
    return out;
  }

  bool has(std::uint64_t id) const { return std::ranges::binary_search(nodes_, id, {}, &EtNode::id); }

  static bool is_kernel(const EtNode& node) { return node.states_host && !node.on_host; }

  void add(const EtNode& node) {
    if (node.is_comm() && !(is_kernel(node) && calls_collectives_)) return add_comm(node);
    if (node.type != kMetadata && !node.computes()) return;
    if (is_kernel(node) && has_calls_) return;
    idle_ += node.computes() && !has_calls_ && !node.has_arguments() && !node.is_stated() ? 1 : 0;
    std::uint64_t piece = 0;
    const std::string_view name = whole_name(node.name, piece);
    const std::optional<std::uint64_t> parent = parent_of(node);
    if (piece > 0 && !node.is_stated()) {
      same_as_[node.id] = last_;
      return;
    }
    last_ = node.id;
    begin(node.id, name, parent);
    out_ += ",\"inputs\":" + side(node, 0) + ",\"outputs\":" + side(node, 1) + ",\"attrs\":[";
    if (node.operations > 0 || node.bytes > 0)
      out_ += attribute("num_ops", std::to_string(node.operations)) + "," +
              attribute("tensor_size", std::to_string(node.bytes));
    out_ += "]}";
  }

  void add_comm(const EtNode& node) {
    begin(node.id, "record_param_comms", std::nullopt);
    out_ +=
        ",\"inputs\":{\"values\":[],\"shapes\":[],\"types\":[]},\"outputs\":{\"values\":[],\"shapes\":[],\"types\":[]}";
    out_ += ",\"attrs\":[" + attribute("collective_name", json_text(node.kind())) + "," +
            attribute("comm_size", std::to_string(std::max<std::int64_t>(0, node.comm_bytes)));
    if (!node.group.empty()) out_ += "," + attribute("pg_name", json_text(node.group));
    out_ += "]}";
  }

  void begin(std::uint64_t id, std::string_view name, std::optional<std::uint64_t> parent) {
    out_ += out_.empty() ? "{" : ",{";
    out_ += "\"id\":" + std::to_string(id) + ",\"name\":" + json_text(name);
    if (parent) out_ += ",\"ctrl_deps\":" + std::to_string(*parent);
    if (const auto wait = waits_.find(id); wait != waits_.end())
      out_ += ",\"waits_for\":" + std::to_string(wait->second);
  }

  /// The caller of a call; of work that is stated, which has none, a node that it depends on and that is missing.
  std::optional<std::uint64_t> parent_of(const EtNode& node) const {
    const std::vector<std::uint64_t> deps = deps_of(node);
    if (node.is_stated()) {
      const auto lost = std::ranges::find_if(deps, [this](std::uint64_t id) { return !has(id); });
      return lost == deps.end() ? std::nullopt : std::optional(*lost);
    }
    if (node.control.empty() || !versioned_) return std::nullopt;
    const std::uint64_t parent = node.control.front();
    const auto at = std::ranges::lower_bound(nodes_, parent, {}, &EtNode::id);
    if (at != nodes_.end() && at->id == parent && (at->is_stated() || at->is_comm())) return std::nullopt;
    const auto same = same_as_.find(parent);
    return same == same_as_.end() ? parent : same->second;
  }

  static std::string attribute(std::string_view name, const std::string& value) {
    return "{\"name\":" + json_text(name) + ",\"value\":" + value + "}";
  }
  static std::string side(const EtNode& node, std::size_t i) {
    return "{\"values\":" + json_of(node.values[i]) + ",\"shapes\":" + json_of(node.shapes[i]) +
           ",\"types\":" + json_of(node.types[i]) + "}";
  }

  std::string_view bytes_;
  const std::string& file_;
  bool versioned_ = false, has_calls_ = false, calls_collectives_ = false, has_shapes_ = false;
  std::uint64_t bare_ = 0;  ///< nodes that compute, with a time
  std::uint64_t idle_ = 0;  ///< nodes that compute, of which nothing says how much
  std::vector<EtNode> nodes_;
  std::string out_;
  std::uint64_t last_ = 0;                                    ///< the last whole call
  std::unordered_map<std::uint64_t, std::uint64_t> same_as_;  ///< pieces to the first one
  /// Nodes to the last collective that is over before what depends on them begins: itself, or one that they wait for.
  std::unordered_map<std::uint64_t, std::uint64_t> waits_;
};

}  // namespace

bool sniff_chakra(std::string_view bytes) {
  if (bytes.size() < 4 || bytes.size() > std::size_t{std::numeric_limits<int>::max()}) return false;
  CodedInputStream in = over(bytes);
  std::string_view head;
  bool versioned = false;
  return read_piece(in, head) && !head.empty() && is_head(head, versioned);
}

Result<std::string> chakra_as_execution_trace(std::string_view bytes, const std::string& file) {
  return EtConverter(bytes, file).convert();
}

}  // namespace distsim::opgraph
