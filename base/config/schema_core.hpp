// SchemaCore: the part of a schema that does not depend on the struct that it fills, compiled once for all of them. A field is found by
// its place in the struct. Users declare a Schema (schema.hpp).
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/config_node.hpp"
#include "base/result.hpp"
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
/// sizes whole bytes: what would round to none is refused. T: bool, std::string, an integer, double, or a quantity of base/units.hpp.
template <class T>
Result<T> read_scalar(const ConfigNode& node, const std::string& path, Range range);
template <class T>
std::string range_of(Range range);
template <class T>
std::string value_text(const T& v);

}  // namespace schema_detail

class SchemaCore {
 public:
  using Reader = std::function<Result<void>(void* section, const ConfigNode&, const std::string& path)>;
  using Rule = std::function<std::optional<std::string>(const void* section)>;
  /// Puts the word of that index in the member at `place`.
  using Assign = std::function<void(void* place, std::span<const std::size_t> words)>;
  enum class Given : bool { may_be, must_be };

  SchemaCore(std::string_view section, std::string_view doc) : section_(section), doc_(doc) {}

  void add(FieldDoc doc, Given given, Reader reader);
  /// T: as in read_scalar; `offset`: of the member in the struct, whose value without the key is `initial`.
  template <class T>
  void add_scalar(std::string_view key, std::ptrdiff_t offset, const T& initial, Range range, std::string_view doc,
                  Given given);
  template <class T>
  void add_scalars(std::string_view key, std::ptrdiff_t offset, const std::vector<T>& initial, Range range,
                   std::string_view doc, Given given, std::size_t max_items);
  template <class T>
  void add_table(std::string_view key, std::ptrdiff_t offset, const std::vector<std::string>& names, Range range,
                 std::string_view doc, Given given);
  void add_choice(std::string_view key, std::ptrdiff_t offset, std::vector<std::string> words,
                  std::string_view fallback, std::string_view doc, Given given, Assign assign);
  void add_choices(std::string_view key, std::ptrdiff_t offset, std::vector<std::string> words, std::string_view doc,
                   std::size_t max_items, Assign assign);
  /// The keys of `inner` are listed behind `key` and `between`.
  void add_section(std::string_view key, std::string_view between, std::string_view type, std::string_view fallback,
                   const SchemaCore& inner, Given given, Reader reader);
  /// The keys of `inner`, of the struct at `offset`, in this section.
  void add_joined(std::ptrdiff_t offset, const SchemaCore& inner);
  void set_moved(std::span<const MovedKey> keys);
  void add_rule(Rule rule) { rules_.push_back(std::move(rule)); }

  Result<void> read_into(void* section, const ConfigNode& node, const std::string& path) const;
  static Result<void> check_list(const ConfigNode& node, const std::string& path, std::size_t max_items);

  const std::string& section() const { return section_; }
  const std::string& doc() const { return doc_; }
  const std::vector<FieldDoc>& docs() const { return docs_; }
  std::span<const MovedKey> moved_keys() const { return moved_; }
  std::vector<std::string> keys() const;

 private:
  struct Field {
    std::string key, type, doc;
    Given given;
    Reader reader;
  };
  std::size_t index_of(std::string_view key) const;

  std::string section_;
  std::string doc_;
  std::vector<Field> fields_;
  std::vector<FieldDoc> docs_;
  std::span<const MovedKey> moved_;
  std::vector<Rule> rules_;
};

}  // namespace distsim
