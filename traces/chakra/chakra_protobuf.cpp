// Chakra's binary form. Field numbers are those of et_def.proto; fields that are not used here are skipped, as protocol
// buffers intend.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <limits>
#include <vector>

#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"
#include "traces/chakra/chakra_parts.hpp"

namespace distsim::traces {
namespace {

using google::protobuf::io::CodedInputStream;
using Wire = google::protobuf::internal::WireFormatLite;

namespace metadata_field {
enum { version = 1, attribute = 2 };
}
namespace node_field {
enum { id = 1, name, type, control_deps, data_deps, start, duration, inputs, outputs, attribute };
}
namespace attribute_field {
enum {
  name = 1,
  double_value = 3,
  float_value = 5,
  int32_value = 7,
  int64_value = 9,
  uint32_value = 11,
  uint64_value = 13,
  sint32_value = 15,
  sint64_value = 17,
  fixed32_value = 19,
  fixed64_value = 21,
  sfixed32_value = 23,
  sfixed64_value = 25,
  bool_value = 27,
  string_value = 29,
  bytes_value = 31
};
}

constexpr auto kVarint = Wire::WIRETYPE_VARINT;
constexpr auto kBytes = Wire::WIRETYPE_LENGTH_DELIMITED;
constexpr std::uint32_t tag(int field, Wire::WireType type) { return static_cast<std::uint32_t>(field) << 3 | type; }

/// A length and as many bytes, in place; `out` is empty unless they are all there.
bool read_bytes(CodedInputStream& in, std::string_view& out) {
  std::uint32_t size = 0;
  const void* data = nullptr;
  int at_hand = 0;
  if (!in.ReadVarint32(&size)) return false;
  out = {};
  if (size == 0) return true;
  if (size > std::uint32_t{std::numeric_limits<int>::max()} || !in.GetDirectBufferPointer(&data, &at_hand))
    return false;
  if (static_cast<int>(size) > at_hand) return false;
  out = std::string_view(static_cast<const char*>(data), size);
  return in.Skip(static_cast<int>(size));
}

CodedInputStream stream_over(std::string_view bytes) {
  return CodedInputStream(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
}

/// True at the regular end of a message, as opposed to a tag that cannot be read.
bool at_end(CodedInputStream& in) { return in.ConsumedEntireMessage(); }

bool read_number(CodedInputStream& in, std::int64_t& out) {
  std::uint64_t value = 0;
  if (!in.ReadVarint64(&value)) return false;
  out = static_cast<std::int64_t>(value);
  return true;
}

/// The next value of an attribute of that tag; false: damage. Fields that are no value of an attribute are skipped.
bool read_value(CodedInputStream& in, std::uint32_t t, ChakraAttribute& out) {
  std::uint64_t wide = 0;
  std::uint32_t narrow = 0;
  const auto real = [&out](double value) {
    out.number = exact_integer(value);
    out.as_written = std::to_string(value);
    return true;
  };
  const auto integer = [&out](std::int64_t value) {
    out.number = value;
    return true;
  };
  const auto natural = [&out](std::uint64_t value) {
    out.as_written = std::to_string(value);
    if (value <= INT64_MAX) out.number = static_cast<std::int64_t>(value);
    return true;
  };
  switch (t) {
    case tag(attribute_field::string_value, kBytes):
    case tag(attribute_field::bytes_value, kBytes):
      if (!read_bytes(in, out.text)) return false;
      out.number = exact_integer(out.text);
      out.is_text = true;
      out.as_written = in_quotes(out.text);
      return true;
    case tag(attribute_field::bool_value, kVarint):
      out.is_truth = true;
      out.as_written = "a truth value";
      return in.ReadVarint64(&wide) && integer(wide != 0 ? 1 : 0);
    case tag(attribute_field::int32_value, kVarint):
    case tag(attribute_field::int64_value, kVarint):
    case tag(attribute_field::uint32_value, kVarint):
      return in.ReadVarint64(&wide) && integer(static_cast<std::int64_t>(wide));
    case tag(attribute_field::uint64_value, kVarint):
      return in.ReadVarint64(&wide) && natural(wide);
    case tag(attribute_field::sint32_value, kVarint):
    case tag(attribute_field::sint64_value, kVarint):
      return in.ReadVarint64(&wide) && integer(Wire::ZigZagDecode64(wide));
    case tag(attribute_field::fixed64_value, Wire::WIRETYPE_FIXED64):
      return in.ReadLittleEndian64(&wide) && natural(wide);
    case tag(attribute_field::sfixed64_value, Wire::WIRETYPE_FIXED64):
      return in.ReadLittleEndian64(&wide) && integer(static_cast<std::int64_t>(wide));
    case tag(attribute_field::fixed32_value, Wire::WIRETYPE_FIXED32):
      return in.ReadLittleEndian32(&narrow) && natural(narrow);
    case tag(attribute_field::sfixed32_value, Wire::WIRETYPE_FIXED32):
      return in.ReadLittleEndian32(&narrow) && integer(static_cast<std::int32_t>(narrow));
    case tag(attribute_field::double_value, Wire::WIRETYPE_FIXED64):
      return in.ReadLittleEndian64(&wide) && real(Wire::DecodeDouble(wide));
    case tag(attribute_field::float_value, Wire::WIRETYPE_FIXED32):
      return in.ReadLittleEndian32(&narrow) && real(static_cast<double>(Wire::DecodeFloat(narrow)));
    default:
      return Wire::SkipField(&in, t);
  }
}

bool read_attribute(std::string_view bytes, ChakraAttribute& out) {
  CodedInputStream in = stream_over(bytes);
  out.as_written = "nothing";
  while (const std::uint32_t t = in.ReadTag()) {
    const bool ok = t == tag(attribute_field::name, kBytes) ? read_bytes(in, out.name) : read_value(in, t, out);
    if (!ok) return false;
  }
  return at_end(in);
}

/// Dependencies, packed or one by one.
bool read_deps(CodedInputStream& in, std::uint32_t t, ChakraBuilder& builder, bool control) {
  const auto add = [&](std::uint64_t id) { control ? builder.add_control_dep(id) : builder.add_data_dep(id); };
  std::uint64_t id = 0;
  if (Wire::GetTagWireType(t) == kVarint) {
    if (!in.ReadVarint64(&id)) return false;
    add(id);
    return true;
  }
  std::string_view packed;
  if (Wire::GetTagWireType(t) != kBytes || !read_bytes(in, packed)) return false;
  CodedInputStream ids = stream_over(packed);
  while (ids.CurrentPosition() < static_cast<int>(packed.size())) {
    if (!ids.ReadVarint64(&id)) return false;
    add(id);
  }
  return true;
}

/// False: damage. Error: an attribute that is not what its name says. `attributes` is room that nodes share: what they mean
/// is known when all fields have been read, which may stand in any order.
Result<bool> read_node(std::string_view bytes, ChakraBuilder& builder, ChakraNode& node,
                       std::vector<std::string_view>& attributes) {
  CodedInputStream in = stream_over(bytes);
  attributes.clear();
  std::string_view inputs;
  while (const std::uint32_t t = in.ReadTag()) {
    bool ok = true;
    std::string_view text;
    std::int64_t number = 0;
    switch (t) {
      case tag(node_field::id, kVarint):
        ok = in.ReadVarint64(&node.id);
        break;
      case tag(node_field::name, kBytes):
        ok = read_bytes(in, text);
        node.name = builder.intern(text);
        break;
      case tag(node_field::type, kVarint):
        ok = read_number(in, number) && number >= 0 && number <= static_cast<int>(ChakraKind::collective);
        node.kind = static_cast<ChakraKind>(number);
        break;
      case tag(node_field::control_deps, kBytes):
      case tag(node_field::control_deps, kVarint):
        ok = read_deps(in, t, builder, true);
        break;
      case tag(node_field::data_deps, kBytes):
      case tag(node_field::data_deps, kVarint):
        ok = read_deps(in, t, builder, false);
        break;
      case tag(node_field::duration, kVarint):
        ok = read_number(in, number);
        set_micros(node, number);
        break;
      case tag(node_field::inputs, kBytes):
        ok = read_bytes(in, inputs);
        break;
      case tag(node_field::attribute, kBytes):
        ok = read_bytes(in, text);
        attributes.push_back(text);
        break;
      default:
        ok = Wire::SkipField(&in, t);
    }
    if (!ok) return false;
  }
  ChakraAttributes meaning(builder, node);
  for (const std::string_view one : attributes) {
    ChakraAttribute attribute;
    if (!read_attribute(one, attribute)) return false;
    TRY(meaning.apply(attribute));
  }
  if (node.kind == ChakraKind::metadata) TRY(add_process_groups(builder, inputs));
  return at_end(in);
}

/// The first message; false where it is something else.
bool read_metadata(std::string_view bytes, ChakraBuilder& builder) {
  CodedInputStream in = stream_over(bytes);
  bool versioned = false;
  while (const std::uint32_t t = in.ReadTag()) {
    std::string_view text;
    if (t == tag(metadata_field::version, kBytes)) {
      if (!read_bytes(in, text)) return false;
      builder.set_version(std::string(text));
      versioned = true;
    } else if (t == tag(metadata_field::attribute, kBytes)) {
      ChakraAttribute attribute;
      if (!read_bytes(in, text) || !read_attribute(text, attribute)) return false;
      apply_metadata(builder, attribute);
    } else {
      return false;
    }
  }
  if (!versioned) builder.old_layout();
  return at_end(in);
}

Error damage(int offset, const std::string& found, const std::string& expected) {
  return {"byte " + std::to_string(offset) + ": found " + found + ", expected " + expected, "", ""};
}

}  // namespace

Result<ChakraGraph> read_chakra_protobuf(std::string_view bytes) {
  if (bytes.size() > std::size_t{std::numeric_limits<int>::max()})
    return Error{"found more than 2 GiB, expected a trace of one rank", "", ""};
  ChakraBuilder builder;
  CodedInputStream in = stream_over(bytes);
  std::string_view message;
  std::vector<std::string_view> attributes;
  if (!read_bytes(in, message) || !read_metadata(message, builder))
    return damage(0, "unrecognized bytes", "the metadata at the start of a Chakra trace");
  while (in.CurrentPosition() < static_cast<int>(bytes.size())) {
    const int offset = in.CurrentPosition();
    if (!read_bytes(in, message)) return damage(offset, "a truncated message", "a complete node");
    ChakraNode node;
    const Result<bool> whole = read_node(message, builder, node, attributes);
    if (whole && !*whole) return damage(offset, "a message that is not a Chakra node", "a node");
    const Result<void> added = whole ? builder.add(node) : whole.error();
    if (!added) return Error{"node " + std::to_string(node.id) + ": " + added.error().what, "", ""};
  }
  return std::move(builder).finish();
}

}  // namespace distsim::traces
