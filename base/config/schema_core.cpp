#include "base/config/schema_core.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_units.hpp"

namespace distsim {
namespace schema_detail {
namespace {

/// What kind of scalar a C++ type is.
template <class T>
struct ScalarTraits;
template <>
struct ScalarTraits<double> {
  static constexpr Dimension dimension = Dimension::none;
};
template <>
struct ScalarTraits<Bytes> {
  static constexpr Dimension dimension = Dimension::bytes;
};
template <>
struct ScalarTraits<Duration> {
  static constexpr Dimension dimension = Dimension::seconds;
};
template <>
struct ScalarTraits<BytesPerSecond> {
  static constexpr Dimension dimension = Dimension::bytes_per_second;
};
template <>
struct ScalarTraits<FlopsPerSecond> {
  static constexpr Dimension dimension = Dimension::flops_per_second;
};
template <>
struct ScalarTraits<Hertz> {
  static constexpr Dimension dimension = Dimension::hertz;
};
template <>
struct ScalarTraits<Watts> {
  static constexpr Dimension dimension = Dimension::watts;
};

/// Adds key and position to an error of parse_quantity or parse_integer.
Error at(const ConfigNode& node, const std::string& path, const Error& e) {
  return {path + ": " + e.what, node.where.text(), e.hint};
}

std::string bound_text(double value, Dimension dimension, bool integer) {
  const bool whole = integer && std::abs(value) < 9e18;
  return whole ? std::to_string(static_cast<std::int64_t>(value)) : format_quantity(value, dimension);
}

struct Place {
  const ConfigNode* node;
  bool whole;  ///< the key itself is there, not only what would hold it
};

Place deepest_place(const ConfigNode& node, std::string_view key) {
  Place place{&node, true};
  while (!key.empty()) {
    const std::size_t dot = std::min(key.find('.'), key.size());
    const ConfigNode* next = place.node->find(key.substr(0, dot));
    if (next == nullptr) return {place.node, false};
    place.node = next;
    key.remove_prefix(std::min(dot + 1, key.size()));
  }
  return place;
}

/// 0: in the file of the section itself; 1: in another, which was laid on it; 2: with --set, which is laid on all files.
int laid_on(const ConfigNode& section, const SourcePos& where) {
  if (where.line == 0) return 2;
  const auto file = [](const SourcePos& at) { return at.file ? std::string_view(*at.file) : std::string_view(); };
  return file(where) == file(section.where) ? 0 : 1;
}

}  // namespace

Error expected(const ConfigNode& node, const std::string& path, const std::string& expectation,
               const std::string& hint) {
  return {path + ": found " + node.describe() + ", expected " + expectation, node.where.text(), hint};
}

Result<double> read_quantity(const ConfigNode& node, const std::string& path, Dimension dimension, Range range) {
  if (node.kind != ConfigNode::Kind::scalar) return expected(node, path, expected_quantity(dimension));
  const auto value = parse_quantity(node.scalar, dimension);
  if (!value) return at(node, path, value.error());
  if (!(*value >= range.min && *value <= range.max)) return expected(node, path, range_text(range, dimension, false));
  return value;
}

Result<std::int64_t> read_integer(const ConfigNode& node, const std::string& path, Range range) {
  if (node.kind != ConfigNode::Kind::scalar) return expected(node, path, "an integer");
  const auto value = parse_integer(node.scalar);
  if (!value) return at(node, path, value.error());
  const auto v = static_cast<double>(*value);
  if (!(v >= range.min && v <= range.max)) return expected(node, path, range_text(range, Dimension::none, true));
  return value;
}

Result<bool> read_bool(const ConfigNode& node, const std::string& path) {
  if (node.kind == ConfigNode::Kind::scalar && node.scalar == "true") return true;
  if (node.kind == ConfigNode::Kind::scalar && node.scalar == "false") return false;
  return expected(node, path, "true or false");
}

Result<std::string> read_string(const ConfigNode& node, const std::string& path) {
  if (node.kind != ConfigNode::Kind::scalar) return expected(node, path, "text");
  return node.scalar;
}

Error unknown_key(const ConfigNode::Entry& entry, const std::string& path, const std::vector<std::string>& known,
                  std::span<const MovedKey> moved) {
  for (const MovedKey& m : moved) {
    if (m.old_key == entry.key && m.new_key.empty())
      return {path + "." + entry.key + ": found a removed key, expected none", entry.where.text(), std::string(m.hint)};
    if (m.old_key == entry.key) {
      const std::string section = m.from == MovedKey::From::section ? path + "." : "";
      return {path + "." + entry.key + ": found an old key, expected " + section + std::string(m.new_key),
              entry.where.text(), std::string(m.hint)};
    }
  }
  return {path + "." + printable(entry.key) + ": found an unknown key, expected a key of " + path, entry.where.text(),
          spelling_hint(entry.key, known)};
}

SourcePos position_of(const ConfigNode& node, const std::string& message) {
  const std::string_view text = message;
  const std::size_t colon = std::min(text.find(':'), text.size());
  const Place blamed = deepest_place(node, text.substr(0, colon));
  constexpr std::string_view kOfKeys = "abcdefghijklmnopqrstuvwxyz0123456789_.";
  for (std::size_t at = text.find_first_of(kOfKeys, colon); at < text.size();) {
    const std::size_t end = std::min(text.find_first_not_of(kOfKeys, at), text.size());
    const Place named = deepest_place(node, text.substr(at, end - at));
    const bool later = laid_on(node, named.node->where) > laid_on(node, blamed.node->where);
    if (named.whole && later) return named.node->where;
    at = text.find_first_of(kOfKeys, end);
  }
  return blamed.node->where;
}

std::string range_text(Range range, Dimension dimension, bool integer) {
  const bool has_min = range.min > -std::numeric_limits<double>::max();
  const bool has_max = range.max < (integer ? 9e18 : std::numeric_limits<double>::max());
  if (has_min && has_max)
    return bound_text(range.min, dimension, integer) + " .. " + bound_text(range.max, dimension, integer);
  if (has_min) return bound_text(range.min, dimension, integer) + " or more";
  return has_max ? bound_text(range.max, dimension, integer) + " or less" : "";
}

std::string dimension_name(Dimension dimension) {
  switch (dimension) {
    case Dimension::none:
      return "number";
    case Dimension::bytes:
      return "bytes";
    case Dimension::seconds:
      return "time";
    case Dimension::bytes_per_second:
      return "bytes/s";
    case Dimension::flops_per_second:
      return "FLOP/s";
    case Dimension::hertz:
      return "Hz";
    case Dimension::watts:
      return "W";
  }
  return "";
}

template <class T>
Result<T> read_scalar(const ConfigNode& node, const std::string& path, Range range) {
  if constexpr (std::is_same_v<T, bool>) {
    return read_bool(node, path);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return read_string(node, path);
  } else if constexpr (std::is_integral_v<T>) {
    range.max = std::min(range.max, static_cast<double>(std::numeric_limits<T>::max()));
    range.min = std::max(range.min, static_cast<double>(std::numeric_limits<T>::min()));
    TRY_ASSIGN(const std::int64_t v, read_integer(node, path, range));
    return static_cast<T>(v);
  } else if constexpr (std::is_same_v<T, Duration>) {
    range.min = std::max(range.min, 0.0);
    range.max = std::min(range.max, Duration::kMaxSeconds);  // from_seconds cannot fail then
    TRY_ASSIGN(const double v, read_quantity(node, path, Dimension::seconds, range));
    TRY_ASSIGN(const T whole, Duration::from_seconds(v));
    if (v > 0 && whole == T()) return expected(node, path, "0 s, or at least 1 ps");
    return whole;
  } else if constexpr (std::is_same_v<T, Bytes>) {
    range.max = std::min(range.max, 9e18);
    TRY_ASSIGN(const double v, read_quantity(node, path, Dimension::bytes, range));
    const T whole(static_cast<std::int64_t>(std::llround(v)));
    if (v > 0 && whole == T(0)) return expected(node, path, "0 B, or at least 1 B");
    return whole;
  } else {
    TRY_ASSIGN(const double v, read_quantity(node, path, ScalarTraits<T>::dimension, range));
    return T(v);
  }
}

template <class T>
std::string type_name() {
  if constexpr (std::is_same_v<T, bool>)
    return "true or false";
  else if constexpr (std::is_same_v<T, std::string>)
    return "text";
  else if constexpr (std::is_integral_v<T>)
    return "integer";
  else
    return dimension_name(ScalarTraits<T>::dimension);
}

template <class T>
std::string range_of(Range range) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>)
    return "";
  else if constexpr (std::is_integral_v<T>)
    return range_text(range, Dimension::none, true);
  else
    return range_text(range, ScalarTraits<T>::dimension, false);
}

template <class T>
std::string value_text(const T& v) {
  if constexpr (std::is_same_v<T, bool>)
    return v ? "true" : "false";
  else if constexpr (std::is_same_v<T, std::string>)
    return v.empty() ? "none" : v;
  else if constexpr (std::is_integral_v<T>)
    return std::to_string(v);
  else if constexpr (std::is_same_v<T, Duration>)
    return format_quantity(v.seconds(), Dimension::seconds);
  else if constexpr (std::is_same_v<T, double>)
    return format_quantity(v, Dimension::none);
  else
    return format_quantity(static_cast<double>(v.value()), ScalarTraits<T>::dimension);
}

/// "[512, 256, 128]", or "empty".
template <class T>
std::string list_text(const std::vector<T>& values) {
  std::string out;
  for (const T& v : values) out += (out.empty() ? "[" : ", ") + value_text(v);
  return out.empty() ? "empty" : out + "]";
}

}  // namespace schema_detail

namespace {

using Given = SchemaCore::Given;

std::string fallback_of(Given given, std::string_view otherwise) {
  return given == Given::must_be ? "required" : std::string(otherwise);
}

void* at_offset(void* section, std::ptrdiff_t offset) { return static_cast<char*>(section) + offset; }

std::string list_of(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
  return list;
}

/// The index of a word. Error: another one, with the nearest valid spelling.
Result<std::size_t> read_word(const ConfigNode& node, const std::string& path, const std::vector<std::string>& words) {
  const bool is_scalar = node.kind == ConfigNode::Kind::scalar;
  const auto found = is_scalar ? std::find(words.begin(), words.end(), node.scalar) : words.end();
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  const std::string near = is_scalar ? nearest_spelling(node.scalar, words) : "";
  return schema_detail::expected(node, path, "one of " + list_of(words),
                                 near.empty() ? "" : "did you mean '" + near + "'?");
}

std::string of_item(const std::string& path, std::size_t i) { return path + "[" + std::to_string(i) + "]"; }

}  // namespace

void SchemaCore::add(FieldDoc doc, Given given, Reader reader) {
  CHECK(index_of(doc.key) == fields_.size()) << "key declared twice: " << doc.key;
  fields_.push_back({doc.key, doc.type, doc.doc, given, std::move(reader)});
  docs_.push_back(std::move(doc));
}

template <class T>
void SchemaCore::add_scalar(std::string_view key, std::ptrdiff_t offset, const T& initial, Range range,
                            std::string_view doc, Given given) {
  add({std::string(key), schema_detail::type_name<T>(), schema_detail::range_of<T>(range),
       fallback_of(given, schema_detail::value_text(initial)), std::string(doc)},
      given, [offset, range](void* section, const ConfigNode& node, const std::string& path) -> Result<void> {
        TRY_ASSIGN(T v, schema_detail::read_scalar<T>(node, path, range));
        *static_cast<T*>(at_offset(section, offset)) = std::move(v);
        return {};
      });
}

template <class T>
void SchemaCore::add_scalars(std::string_view key, std::ptrdiff_t offset, const std::vector<T>& initial, Range range,
                             std::string_view doc, Given given, std::size_t max_items) {
  add({std::string(key), "list of " + schema_detail::type_name<T>(), schema_detail::range_of<T>(range),
       fallback_of(given, schema_detail::list_text(initial)), std::string(doc)},
      given,
      [offset, range, max_items](void* section, const ConfigNode& node, const std::string& path) -> Result<void> {
        TRY(check_list(node, path, max_items));
        std::vector<T> values;
        for (std::size_t i = 0; i < node.items.size(); ++i) {
          TRY_ASSIGN(T v, schema_detail::read_scalar<T>(node.items[i], of_item(path, i), range));
          values.push_back(std::move(v));
        }
        *static_cast<std::vector<T>*>(at_offset(section, offset)) = std::move(values);
        return {};
      });
}

template <class T>
void SchemaCore::add_table(std::string_view key, std::ptrdiff_t offset, const std::vector<std::string>& names,
                           Range range, std::string_view doc, Given given) {
  add({std::string(key), "map to " + schema_detail::type_name<T>(), schema_detail::range_of<T>(range),
       fallback_of(given, "empty"), std::string(doc)},
      given, [offset, names, range](void* section, const ConfigNode& node, const std::string& path) -> Result<void> {
        if (node.kind != ConfigNode::Kind::map) return schema_detail::expected(node, path, "a map");
        auto& out = *static_cast<std::map<std::string, T>*>(at_offset(section, offset));
        for (const auto& entry : node.entries) {
          if (!names.empty() && std::find(names.begin(), names.end(), entry.key) == names.end()) {
            return schema_detail::unknown_key(entry, path, names);
          }
          TRY_ASSIGN(T v, schema_detail::read_scalar<T>(entry.value, path + "." + entry.key, range));
          out[entry.key] = std::move(v);
        }
        return {};
      });
}

void SchemaCore::add_choice(std::string_view key, std::ptrdiff_t offset, std::vector<std::string> words,
                            std::string_view fallback, std::string_view doc, Given given, Assign assign) {
  FieldDoc line{std::string(key), "one of " + list_of(words), "", fallback_of(given, fallback), std::string(doc)};
  add(std::move(line), given,
      [offset, words = std::move(words), assign = std::move(assign)](void* section, const ConfigNode& node,
                                                                     const std::string& path) -> Result<void> {
        TRY_ASSIGN(const std::size_t word, read_word(node, path, words));
        assign(at_offset(section, offset), {&word, 1});
        return {};
      });
}

void SchemaCore::add_choices(std::string_view key, std::ptrdiff_t offset, std::vector<std::string> words,
                             std::string_view doc, std::size_t max_items, Assign assign) {
  FieldDoc line{std::string(key), "list, each one of " + list_of(words), "", "empty", std::string(doc)};
  add(std::move(line), Given::may_be,
      [offset, words = std::move(words), max_items, assign = std::move(assign)](
          void* section, const ConfigNode& node, const std::string& path) -> Result<void> {
        TRY(check_list(node, path, max_items));
        std::vector<std::size_t> chosen;
        for (std::size_t i = 0; i < node.items.size(); ++i) {
          TRY_ASSIGN(const std::size_t word, read_word(node.items[i], of_item(path, i), words));
          chosen.push_back(word);
        }
        assign(at_offset(section, offset), chosen);
        return {};
      });
}

void SchemaCore::add_section(std::string_view key, std::string_view between, std::string_view type,
                             std::string_view fallback, const SchemaCore& inner, Given given, Reader reader) {
  add({std::string(key), std::string(type), "", std::string(fallback), inner.doc_}, given, std::move(reader));
  for (FieldDoc d : inner.docs_) {
    d.key = std::string(key) + std::string(between) + d.key;
    docs_.push_back(std::move(d));
  }
}

void SchemaCore::add_joined(std::ptrdiff_t offset, const SchemaCore& inner) {
  CHECK(inner.fields_.size() == inner.docs_.size() && inner.rules_.empty()) << "sub-sections of " << inner.doc_;
  for (std::size_t i = 0; i < inner.fields_.size(); ++i) {
    add(inner.docs_[i], inner.fields_[i].given,
        [offset, reader = inner.fields_[i].reader](void* section, const ConfigNode& node, const std::string& path) {
          return reader(at_offset(section, offset), node, path);
        });
  }
}

void SchemaCore::set_moved(std::span<const MovedKey> keys) {
  for (const MovedKey& m : keys) CHECK(index_of(m.old_key) == fields_.size()) << m.old_key;
  moved_ = keys;
}

Result<void> SchemaCore::read_into(void* section, const ConfigNode& node, const std::string& path) const {
  if (node.kind != ConfigNode::Kind::map) return schema_detail::expected(node, path, "a map");
  std::vector<bool> seen(fields_.size(), false);
  for (const auto& entry : node.entries) {
    const std::size_t i = index_of(entry.key);
    if (i == fields_.size()) return schema_detail::unknown_key(entry, path, keys(), moved_);
    seen[i] = true;
    TRY(fields_[i].reader(section, entry.value, path + "." + entry.key));
  }
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].given == Given::must_be && !seen[i]) {
      return Error{path + "." + fields_[i].key + ": missing, expected " + fields_[i].type, node.where.text(),
                   fields_[i].doc};
    }
  }
  for (const Rule& rule : rules_) {
    if (auto broken = rule(section))
      return Error{path + "." + *broken, schema_detail::position_of(node, *broken).text(), ""};
  }
  return {};
}

Result<void> SchemaCore::check_list(const ConfigNode& node, const std::string& path, std::size_t max_items) {
  if (node.kind != ConfigNode::Kind::sequence) return schema_detail::expected(node, path, "a list");
  if (node.items.size() > max_items)
    return schema_detail::expected(node, path, "at most " + std::to_string(max_items) + " items");
  return {};
}

std::vector<std::string> SchemaCore::keys() const {
  std::vector<std::string> out;
  for (const Field& f : fields_) out.push_back(f.key);
  return out;
}

std::size_t SchemaCore::index_of(std::string_view key) const {
  std::size_t i = 0;
  while (i < fields_.size() && fields_[i].key != key) ++i;
  return i;
}

// The scalars that there are; a member of another type does not link.
#define DISTSIM_SCALAR(T)                                                                                              \
  template Result<T> schema_detail::read_scalar<T>(const ConfigNode&, const std::string&, Range);                      \
  template std::string schema_detail::range_of<T>(Range);                                                              \
  template std::string schema_detail::value_text<T>(const T&);                                                         \
  template void SchemaCore::add_scalar<T>(std::string_view, std::ptrdiff_t, const T&, Range, std::string_view, Given); \
  template void SchemaCore::add_scalars<T>(std::string_view, std::ptrdiff_t, const std::vector<T>&, Range,             \
                                           std::string_view, Given, std::size_t);                                      \
  template void SchemaCore::add_table<T>(std::string_view, std::ptrdiff_t, const std::vector<std::string>&, Range,     \
                                         std::string_view, Given);
DISTSIM_SCALAR(std::string)
DISTSIM_SCALAR(int)
DISTSIM_SCALAR(std::int64_t)
DISTSIM_SCALAR(std::uint16_t)
DISTSIM_SCALAR(std::uint32_t)
DISTSIM_SCALAR(std::uint64_t)
DISTSIM_SCALAR(double)
DISTSIM_SCALAR(Bytes)
DISTSIM_SCALAR(Duration)
DISTSIM_SCALAR(BytesPerSecond)
DISTSIM_SCALAR(FlopsPerSecond)
DISTSIM_SCALAR(Hertz)
DISTSIM_SCALAR(Watts)
#undef DISTSIM_SCALAR
template Result<bool> schema_detail::read_scalar<bool>(const ConfigNode&, const std::string&, Range);
template void SchemaCore::add_scalar<bool>(std::string_view, std::ptrdiff_t, const bool&, Range, std::string_view,
                                           Given);

}  // namespace distsim
