// Chakra files made by hand in tests: protocol buffers written out field by field, apart from the product's writer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace distsim::traces {

inline std::string varint(std::uint64_t v) {
  std::string out;
  for (; v >= 128; v >>= 7) out += static_cast<char>((v & 127) | 128);
  return out + static_cast<char>(v);
}
inline std::string number_field(int field, std::uint64_t v) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(v);
}
inline std::string bytes_field(int field, std::string_view v) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(v.size()) + std::string(v);
}
inline std::string integer_attribute(std::string_view name, std::uint64_t v, int field = 9) {
  return bytes_field(10, bytes_field(1, name) + number_field(field, v));
}
inline std::string text_attribute(std::string_view name, std::string_view v) {
  return bytes_field(10, bytes_field(1, name) + bytes_field(29, v));
}

inline std::string message(std::string_view m) { return varint(m.size()) + std::string(m); }
inline std::string metadata() { return message(bytes_field(1, "0.0.4")); }
inline std::string old_metadata() {
  return message(bytes_field(2, bytes_field(1, "schema") + bytes_field(29, "1.0.1")));
}

struct NodeBytes {
  std::uint64_t id = 0;
  int type = 4;
  std::vector<std::uint64_t> data_deps{}, control_deps{};
  std::uint64_t micros = 0;
  std::string attributes{};
  std::string name = "node";
};

inline std::string node(const NodeBytes& n) {
  const auto list = [](const std::vector<std::uint64_t>& ids) {
    std::string out;
    for (const auto id : ids) out += varint(id);
    return out;
  };
  std::string m;
  if (n.id != 0) m += number_field(1, n.id);  // 0 is left out on the wire
  m += bytes_field(2, n.name) + number_field(3, static_cast<std::uint64_t>(n.type));
  if (!n.control_deps.empty()) m += bytes_field(4, list(n.control_deps));
  if (!n.data_deps.empty()) m += bytes_field(5, list(n.data_deps));
  if (n.micros != 0) m += number_field(7, n.micros);
  return message(m + n.attributes);
}

inline std::string collective(std::uint64_t id, int comm_type, std::uint64_t bytes,
                              std::vector<std::uint64_t> deps = {}, std::string_view group = "") {
  std::string attributes = integer_attribute("is_cpu_op", 0, 27) +
                           integer_attribute("comm_type", static_cast<std::uint64_t>(comm_type)) +
                           integer_attribute("comm_size", bytes);
  if (!group.empty()) attributes += text_attribute("pg_name", group);
  return node({id, 7, std::move(deps), {}, 0, attributes, "collective"});
}

}  // namespace distsim::traces
