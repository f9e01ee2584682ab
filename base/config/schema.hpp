// Schemas: one description of a section's keys that reads a ConfigNode into a plain struct, checks it, and generates
// the reference. A key is declared once, with its doc line, its unit (from the member's type) and its range.
//
//   Schema<NicSpec> nic_schema() {
//     Schema<NicSpec> s("nic", "One network adapter of a node.");
//     s.required("bandwidth", &NicSpec::bandwidth, {1e8, 1e13}, "Rate per direction of one port.");
//     s.optional("latency", &NicSpec::latency, {0, 1e-3}, "One-way latency of a small message.");
//     return s;
//   }
//
// Defaults are the struct's own member initialisers. Unknown keys are errors with the nearest spelling. Ranges are in
// SI units, both ends included. Errors read "file:line:col: section.key: found X, expected Y".
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/config/config_node.hpp"
#include "base/result.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/quantity_text.hpp"
#include "base/units.hpp"

namespace distsim {

/// Closed interval of valid values, in SI units.
struct Range {
  double min = 0;
  double max = std::numeric_limits<double>::max();
};

/// A key of earlier files and where it is now, dotted from the section or from the experiment. `hint` says how the value is written there, if
/// that changed. Without a new key it is gone, and `hint` says what is there instead.
struct MovedKey {
  enum class From : std::uint8_t { section, top };
  std::string_view old_key, new_key, hint = "";
  From from = From::section;  ///< where new_key begins
};

/// One line of the generated reference.
struct FieldDoc {
  std::string key;       ///< dotted, from the section
  std::string type;      ///< "integer", "bytes/s", "one of a, b", "list of integer", ...
  std::string range;     ///< "1 .. 1024", "100 MB/s .. 10 TB/s", or empty
  std::string fallback;  ///< default as text, or "required"
  std::string doc;
};

namespace schema_detail {

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

Error expected(const ConfigNode& node, const std::string& path, const std::string& expectation,
               const std::string& hint = "");
Result<double> read_quantity(const ConfigNode& node, const std::string& path, Dimension dimension, Range range);
Result<std::int64_t> read_integer(const ConfigNode& node, const std::string& path, Range range);
Result<bool> read_bool(const ConfigNode& node, const std::string& path);
Result<std::string> read_string(const ConfigNode& node, const std::string& path);
Error unknown_key(const ConfigNode::Entry& entry, const std::string& path, const std::vector<std::string>& known,
                  std::span<const MovedKey> moved = {});
/// Position of the key that a rule's message begins with ("nic.bandwidth: found ..."), or of the deepest part of it
/// that is there. Where that is as the section's own file has it, and a key that the message names ("..., expected less
/// than hbm.capacity") was laid on that file, it is the latter's: the file keeps the rule by itself.
SourcePos position_of(const ConfigNode& node, const std::string& message);
std::string range_text(Range range, Dimension dimension, bool integer);
std::string dimension_name(Dimension dimension);

/// Reads one scalar of type T; the one overload set that decides how text becomes a value. Times are whole picoseconds and
/// sizes whole bytes: what would round to none is refused.
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

template <class S>
class Schema {
 public:
  Schema(std::string section, std::string doc) : section_(std::move(section)), doc_(std::move(doc)) {}

  /// A scalar that must be given.
  template <class T>
  Schema& required(const std::string& key, T S::*member, Range range, const std::string& doc) {
    return scalar(key, member, range, doc, true);
  }
  /// A scalar with the member's initial value as default.
  template <class T>
  Schema& optional(const std::string& key, T S::*member, Range range, const std::string& doc) {
    return scalar(key, member, range, doc, false);
  }
  /// Text or bool, which have no range.
  template <class T>
  Schema& required(const std::string& key, T S::*member, const std::string& doc) {
    return scalar(key, member, {}, doc, true);
  }
  template <class T>
  Schema& optional(const std::string& key, T S::*member, const std::string& doc) {
    return scalar(key, member, {}, doc, false);
  }

  /// One word of a fixed list.
  template <class E>
  Schema& choice(const std::string& key, E S::*member, const std::vector<std::pair<std::string, E>>& words,
                 const std::string& doc, bool is_required = false) {
    std::string fallback;
    for (const auto& [name, value] : words) {
      if (value == S().*member && fallback.empty()) fallback = name;
    }
    add({key, "one of " + listed(words), "", is_required ? "required" : fallback, doc}, is_required,
        [member, words](S& out, const ConfigNode& node, const std::string& path) -> Result<void> {
          TRY_ASSIGN(out.*member, read_word(node, path, words));
          return {};
        });
    return *this;
  }
  /// A list of such words ("[Ring, Tree]").
  template <class E>
  Schema& choices(const std::string& key, std::vector<E> S::*member,
                  const std::vector<std::pair<std::string, E>>& words, const std::string& doc,
                  std::size_t max_items = 100'000) {
    add({key, "list, each one of " + listed(words), "", "empty", doc}, false,
        [member, words, max_items](S& out, const ConfigNode& node, const std::string& path) -> Result<void> {
          TRY(check_list(node, path, max_items));
          std::vector<E> values;
          for (std::size_t i = 0; i < node.items.size(); ++i) {
            TRY_ASSIGN(E value, read_word(node.items[i], path + "[" + std::to_string(i) + "]", words));
            values.push_back(std::move(value));
          }
          out.*member = std::move(values);
          return {};
        });
    return *this;
  }

  /// A list of scalars ("[512, 256, 128]").
  template <class T>
  Schema& scalars(const std::string& key, std::vector<T> S::*member, Range range, const std::string& doc,
                  bool is_required = false, std::size_t max_items = 100'000) {
    add({key, "list of " + schema_detail::type_name<T>(), schema_detail::range_of<T>(range),
         is_required ? "required" : schema_detail::list_text(S().*member), doc},
        is_required,
        [member, range, max_items](S& out, const ConfigNode& node, const std::string& path) -> Result<void> {
          TRY(check_list(node, path, max_items));
          std::vector<T> values;
          for (std::size_t i = 0; i < node.items.size(); ++i) {
            TRY_ASSIGN(T v, schema_detail::read_scalar<T>(node.items[i], path + "[" + std::to_string(i) + "]", range));
            values.push_back(std::move(v));
          }
          out.*member = std::move(values);
          return {};
        });
    return *this;
  }

  /// A map from names to scalars ("{fp16: 312 TFLOP/s}"); `names` empty: any key.
  template <class T>
  Schema& table(const std::string& key, std::map<std::string, T> S::*member, const std::vector<std::string>& names,
                Range range, const std::string& doc, bool is_required = false) {
    add({key, "map to " + schema_detail::type_name<T>(), schema_detail::range_of<T>(range),
         is_required ? "required" : "empty", doc},
        is_required, [member, names, range](S& out, const ConfigNode& node, const std::string& path) -> Result<void> {
          if (node.kind != ConfigNode::Kind::map) return schema_detail::expected(node, path, "a map");
          for (const auto& entry : node.entries) {
            if (!names.empty() && std::find(names.begin(), names.end(), entry.key) == names.end()) {
              return schema_detail::unknown_key(entry, path, names);
            }
            TRY_ASSIGN(T v, schema_detail::read_scalar<T>(entry.value, path + "." + entry.key, range));
            (out.*member)[entry.key] = std::move(v);
          }
          return {};
        });
    return *this;
  }

  /// A sub-section with its own schema: a member, or what `get` finds in the struct.
  template <class T>
  Schema& nested(const std::string& key, T S::*member, const Schema<T>& schema, bool is_required = false) {
    return nested(
        key, [member](S& out) -> T& { return out.*member; }, schema, is_required);
  }
  template <class T, class Get>
  requires std::is_invocable_r_v<T&, Get, S&> Schema& nested(const std::string& key, Get get, const Schema<T>& schema,
                                                             bool is_required = false) {
    auto shared = std::make_shared<const Schema<T>>(schema);
    add({key, "map", "", is_required ? "required" : "", schema.doc()}, is_required,
        [get, shared](S& out, const ConfigNode& node, const std::string& path) {
          return shared->read_into(get(out), node, path);
        });
    for (FieldDoc d : shared->docs()) {
      d.key = key + "." + d.key;
      docs_.push_back(std::move(d));
    }
    return *this;
  }
  /// A sub-section that may be absent.
  template <class T>
  Schema& nested(const std::string& key, std::optional<T> S::*member, const Schema<T>& schema) {
    auto shared = std::make_shared<const Schema<T>>(schema);
    add({key, "map", "", "absent", schema.doc()}, false,
        [member, shared](S& out, const ConfigNode& node, const std::string& path) -> Result<void> {
          if (!(out.*member)) (out.*member).emplace();
          return shared->read_into(*(out.*member), node, path);
        });
    for (FieldDoc d : shared->docs()) {
      d.key = key + "." + d.key;
      docs_.push_back(std::move(d));
    }
    return *this;
  }
  /// The keys of a member, in this section.
  template <class T>
  Schema& joined(T S::*member, const Schema<T>& schema) {
    CHECK(schema.fields_.size() == schema.docs_.size() && schema.rules_.empty()) << "sub-sections of " << schema.doc_;
    for (std::size_t i = 0; i < schema.fields_.size(); ++i) {
      add(schema.docs_[i], schema.fields_[i].is_required,
          [member, reader = schema.fields_[i].reader](S& out, const ConfigNode& node, const std::string& path) {
            return reader(out.*member, node, path);
          });
    }
    return *this;
  }
  /// A list of sub-sections.
  template <class T>
  Schema& list(const std::string& key, std::vector<T> S::*member, const Schema<T>& schema, bool is_required = false,
               std::size_t max_items = 100'000) {
    auto shared = std::make_shared<const Schema<T>>(schema);
    add({key, "list of maps", "", is_required ? "required" : "empty", schema.doc()}, is_required,
        [member, shared, max_items](S& out, const ConfigNode& node, const std::string& path) -> Result<void> {
          TRY(check_list(node, path, max_items));
          std::vector<T> values;
          for (std::size_t i = 0; i < node.items.size(); ++i) {
            T item{};
            TRY(shared->read_into(item, node.items[i], path + "[" + std::to_string(i) + "]"));
            values.push_back(std::move(item));
          }
          out.*member = std::move(values);
          return {};
        });
    for (FieldDoc d : shared->docs()) {
      d.key = key + "[]." + d.key;
      docs_.push_back(std::move(d));
    }
    return *this;
  }
  /// Anything else: the caller reads the node itself.
  Schema& custom(FieldDoc doc, bool is_required,
                 std::function<Result<void>(S&, const ConfigNode&, const std::string& path)> reader) {
    add(std::move(doc), is_required, std::move(reader));
    return *this;
  }
  /// Keys that are refused with their new place named. The table outlives the schema.
  Schema& moved(std::span<const MovedKey> keys) {
    for (const MovedKey& m : keys) CHECK(index_of(std::string(m.old_key)) == fields_.size()) << m.old_key;
    moved_ = keys;
    return *this;
  }
  std::span<const MovedKey> moved_keys() const { return moved_; }
  /// A rule over the whole struct, checked last. The message begins with the key to blame, as in "nic.bandwidth: found
  /// ..., expected ..."; the error stands where that key was given.
  Schema& rule(std::function<std::optional<std::string>(const S&)> broken) {
    rules_.push_back(std::move(broken));
    return *this;
  }

  Result<S> read(const ConfigNode& node) const { return read(node, section_); }
  Result<S> read(const ConfigNode& node, const std::string& path) const {
    S out{};
    TRY(read_into(out, node, path));
    return out;
  }
  Result<void> read_into(S& out, const ConfigNode& node, const std::string& path) const {
    if (node.kind != ConfigNode::Kind::map) return schema_detail::expected(node, path, "a map");
    std::vector<bool> seen(fields_.size(), false);
    for (const auto& entry : node.entries) {
      const std::size_t i = index_of(entry.key);
      if (i == fields_.size()) return schema_detail::unknown_key(entry, path, keys(), moved_);
      seen[i] = true;
      TRY(fields_[i].reader(out, entry.value, path + "." + entry.key));
    }
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i].is_required && !seen[i]) {
        return Error{path + "." + fields_[i].key + ": missing, expected " + fields_[i].type, node.where.text(),
                     fields_[i].doc};
      }
    }
    for (const auto& rule : rules_) {
      if (auto broken = rule(out))
        return Error{path + "." + *broken, schema_detail::position_of(node, *broken).text(), ""};
    }
    return {};
  }

  const std::string& section() const { return section_; }
  const std::string& doc() const { return doc_; }
  const std::vector<FieldDoc>& docs() const { return docs_; }
  std::vector<std::string> keys() const {
    std::vector<std::string> out;
    for (const auto& f : fields_) out.push_back(f.key);
    return out;
  }

 private:
  template <class T>
  friend class Schema;
  using Reader = std::function<Result<void>(S&, const ConfigNode&, const std::string&)>;
  struct Field {
    std::string key, type, doc;
    bool is_required;
    Reader reader;
  };

  template <class T>
  Schema& scalar(const std::string& key, T S::*member, Range range, const std::string& doc, bool is_required) {
    add({key, schema_detail::type_name<T>(), schema_detail::range_of<T>(range),
         is_required ? "required" : schema_detail::value_text(S().*member), doc},
        is_required, [member, range](S& out, const ConfigNode& node, const std::string& path) -> Result<void> {
          TRY_ASSIGN(T v, schema_detail::read_scalar<T>(node, path, range));
          out.*member = std::move(v);
          return {};
        });
    return *this;
  }
  void add(FieldDoc doc, bool is_required, Reader reader) {
    CHECK(index_of(doc.key) == fields_.size()) << "key declared twice: " << doc.key;
    fields_.push_back({doc.key, doc.type, doc.doc, is_required, std::move(reader)});
    docs_.push_back(std::move(doc));
  }
  std::size_t index_of(const std::string& key) const {
    std::size_t i = 0;
    while (i < fields_.size() && fields_[i].key != key) ++i;
    return i;
  }
  static Result<void> check_list(const ConfigNode& node, const std::string& path, std::size_t max_items) {
    if (node.kind != ConfigNode::Kind::sequence) return schema_detail::expected(node, path, "a list");
    if (node.items.size() > max_items) {
      return schema_detail::expected(node, path, "at most " + std::to_string(max_items) + " items");
    }
    return {};
  }
  template <class E>
  static std::string listed(const std::vector<std::pair<std::string, E>>& words) {
    std::string list;
    for (const auto& [name, value] : words) list += (list.empty() ? "" : ", ") + name;
    return list;
  }
  /// The value of a word. Error: another one, with the nearest valid spelling.
  template <class E>
  static Result<E> read_word(const ConfigNode& node, const std::string& path,
                             const std::vector<std::pair<std::string, E>>& words) {
    std::vector<std::string> names;
    for (const auto& [name, value] : words) {
      if (node.kind == ConfigNode::Kind::scalar && node.scalar == name) return value;
      names.push_back(name);
    }
    const std::string near = node.kind == ConfigNode::Kind::scalar ? nearest_spelling(node.scalar, names) : "";
    return schema_detail::expected(node, path, "one of " + listed(words),
                                   near.empty() ? "" : "did you mean '" + near + "'?");
  }

  std::string section_;
  std::string doc_;
  std::vector<Field> fields_;
  std::vector<FieldDoc> docs_;
  std::span<const MovedKey> moved_;
  std::vector<std::function<std::optional<std::string>(const S&)>> rules_;
};

}  // namespace distsim
