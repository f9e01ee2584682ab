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

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/config/schema_core.hpp"

namespace distsim {

template <class S>
class Schema {
 public:
  template <class E>
  using Literals = std::initializer_list<std::pair<std::string_view, E>>;
  template <class E>
  using Words = std::vector<std::pair<std::string, E>>;

  Schema(std::string_view section, std::string_view doc) : core_(section, doc) {}

  /// A scalar that must be given.
  template <class T>
  Schema& required(std::string_view key, T S::*member, Range range, std::string_view doc) {
    core_.add_scalar<T>(key, offset_of(member), initial().*member, range, doc, Given::must_be);
    return *this;
  }
  /// A scalar with the member's initial value as default.
  template <class T>
  Schema& optional(std::string_view key, T S::*member, Range range, std::string_view doc) {
    core_.add_scalar<T>(key, offset_of(member), initial().*member, range, doc, Given::may_be);
    return *this;
  }
  /// Text or bool, which have no range.
  template <class T>
  Schema& required(std::string_view key, T S::*member, std::string_view doc) {
    return required(key, member, {}, doc);
  }
  template <class T>
  Schema& optional(std::string_view key, T S::*member, std::string_view doc) {
    return optional(key, member, {}, doc);
  }

  /// One word of a fixed list.
  template <class E>
  Schema& choice(std::string_view key, E S::*member, Literals<E> words, std::string_view doc,
                 bool is_required = false) {
    return one_of<E>(key, member, words, doc, is_required);
  }
  template <class E>
  Schema& choice(std::string_view key, E S::*member, const Words<E>& words, std::string_view doc,
                 bool is_required = false) {
    return one_of<E>(key, member, words, doc, is_required);
  }
  /// A list of such words ("[Ring, Tree]").
  template <class E>
  Schema& choices(std::string_view key, std::vector<E> S::*member, const Words<E>& words, std::string_view doc,
                  std::size_t max_items = 100'000) {
    core_.add_choices(key, offset_of(member), names_of(words), doc, max_items,
                      [values = values_of<E>(words)](void* place, std::span<const std::size_t> chosen) {
                        auto& out = *static_cast<std::vector<E>*>(place);
                        out.clear();
                        for (std::size_t i : chosen) out.push_back(values[i]);
                      });
    return *this;
  }

  /// A list of scalars ("[512, 256, 128]").
  template <class T>
  Schema& scalars(std::string_view key, std::vector<T> S::*member, Range range, std::string_view doc,
                  bool is_required = false, std::size_t max_items = 100'000) {
    core_.add_scalars<T>(key, offset_of(member), initial().*member, range, doc, given(is_required), max_items);
    return *this;
  }

  /// A map from names to scalars ("{fp16: 312 TFLOP/s}"); `names` empty: any key.
  template <class T>
  Schema& table(std::string_view key, std::map<std::string, T> S::*member, const std::vector<std::string>& names,
                Range range, std::string_view doc, bool is_required = false) {
    core_.add_table<T>(key, offset_of(member), names, range, doc, given(is_required));
    return *this;
  }

  /// A sub-section with its own schema: a member, or what `get` finds in the struct.
  template <class T>
  Schema& nested(std::string_view key, T S::*member, const Schema<T>& schema, bool is_required = false) {
    return nested(
        key, [member](S& out) -> T& { return out.*member; }, schema, is_required);
  }
  template <class T, class Get>
  requires std::is_invocable_r_v<T&, Get, S&> Schema& nested(std::string_view key, Get get, const Schema<T>& schema,
                                                             bool is_required = false) {
    core_.add_section(key, ".", "map", is_required ? "required" : "", schema.core_, given(is_required),
                      [get, inner = shared(schema)](void* out, const ConfigNode& node, const std::string& path) {
                        return inner->read_into(&get(*static_cast<S*>(out)), node, path);
                      });
    return *this;
  }
  /// A sub-section that may be absent.
  template <class T>
  Schema& nested(std::string_view key, std::optional<T> S::*member, const Schema<T>& schema) {
    core_.add_section(key, ".", "map", "absent", schema.core_, Given::may_be,
                      [member, inner = shared(schema)](void* out, const ConfigNode& node, const std::string& path) {
                        auto& found = static_cast<S*>(out)->*member;
                        if (!found) found.emplace();
                        return inner->read_into(&*found, node, path);
                      });
    return *this;
  }
  /// The keys of a member, in this section.
  template <class T>
  Schema& joined(T S::*member, const Schema<T>& schema) {
    core_.add_joined(offset_of(member), schema.core_);
    return *this;
  }
  /// A list of sub-sections.
  template <class T>
  Schema& list(std::string_view key, std::vector<T> S::*member, const Schema<T>& schema, bool is_required = false,
               std::size_t max_items = 100'000) {
    core_.add_section(key, "[].", "list of maps", is_required ? "required" : "empty", schema.core_, given(is_required),
                      [member, inner = shared(schema), max_items](void* out, const ConfigNode& node,
                                                                  const std::string& path) -> Result<void> {
                        TRY(SchemaCore::check_list(node, path, max_items));
                        std::vector<T> values;
                        for (std::size_t i = 0; i < node.items.size(); ++i) {
                          T item{};
                          TRY(inner->read_into(&item, node.items[i], path + "[" + std::to_string(i) + "]"));
                          values.push_back(std::move(item));
                        }
                        static_cast<S*>(out)->*member = std::move(values);
                        return {};
                      });
    return *this;
  }
  /// Anything else: the caller reads the node itself, with reader(S&, const ConfigNode&, path) -> Result<void>.
  template <class F>
  Schema& custom(FieldDoc doc, bool is_required, F reader) {
    core_.add(std::move(doc), given(is_required),
              [reader = std::move(reader)](void* out, const ConfigNode& node, const std::string& path) -> Result<void> {
                return reader(*static_cast<S*>(out), node, path);
              });
    return *this;
  }
  /// Keys that are refused with their new place named. The table outlives the schema.
  Schema& moved(std::span<const MovedKey> keys) {
    core_.set_moved(keys);
    return *this;
  }
  std::span<const MovedKey> moved_keys() const { return core_.moved_keys(); }
  /// A rule over the whole struct, checked last: broken(const S&) -> std::optional<std::string>. The message begins with the
  /// key to blame, as in "nic.bandwidth: found ..., expected ..."; the error stands where that key was given.
  template <class F>
  Schema& rule(F broken) {
    core_.add_rule([broken = std::move(broken)](const void* section) -> std::optional<std::string> {
      return broken(*static_cast<const S*>(section));
    });
    return *this;
  }

  Result<S> read(const ConfigNode& node) const { return read(node, section()); }
  Result<S> read(const ConfigNode& node, const std::string& path) const {
    S out{};
    TRY(read_into(out, node, path));
    return out;
  }
  Result<void> read_into(S& out, const ConfigNode& node, const std::string& path) const {
    return core_.read_into(&out, node, path);
  }

  const std::string& section() const { return core_.section(); }
  const std::string& doc() const { return core_.doc(); }
  const std::vector<FieldDoc>& docs() const { return core_.docs(); }
  std::vector<std::string> keys() const { return core_.keys(); }

 private:
  template <class T>
  friend class Schema;
  using Given = SchemaCore::Given;

  static Given given(bool is_required) { return is_required ? Given::must_be : Given::may_be; }
  /// The struct as it is without any key.
  static const S& initial() {
    static const S value{};
    return value;
  }
  template <class T>
  static std::ptrdiff_t offset_of(T S::*member) {
    return reinterpret_cast<const char*>(&(initial().*member)) - reinterpret_cast<const char*>(&initial());
  }
  template <class T>
  static std::shared_ptr<const SchemaCore> shared(const Schema<T>& schema) {
    return std::make_shared<const SchemaCore>(schema.core_);
  }
  template <class E, class WordsOfE>
  Schema& one_of(std::string_view key, E S::*member, const WordsOfE& words, std::string_view doc, bool is_required) {
    std::string_view fallback;
    for (const auto& [name, value] : words) {
      if (value == initial().*member && fallback.empty()) fallback = name;
    }
    core_.add_choice(key, offset_of(member), names_of(words), fallback, doc, given(is_required),
                     [values = values_of<E>(words)](void* place, std::span<const std::size_t> chosen) {
                       *static_cast<E*>(place) = values[chosen.front()];
                     });
    return *this;
  }
  template <class WordsOfE>
  static std::vector<std::string> names_of(const WordsOfE& words) {
    std::vector<std::string> out;
    for (const auto& word : words) out.emplace_back(word.first);
    return out;
  }
  template <class E, class WordsOfE>
  static std::vector<E> values_of(const WordsOfE& words) {
    std::vector<E> out;
    for (const auto& word : words) out.push_back(word.second);
    return out;
  }

  SchemaCore core_;
};

}  // namespace distsim
