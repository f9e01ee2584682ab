// Large JSON, piece by piece: the top-level keys of an object and the elements of its large arrays, over a window of
// text. A trace of any size is read in the memory of its window. The pieces are handed to simdjson by whoever asked for
// them; here only brackets and strings are followed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "traces/files/byte_source.hpp"

namespace distsim::traces {

/// Bytes that may be read (not used) after the text of a piece: what simdjson asks for.
inline constexpr std::size_t kJsonPadding = 64;

/// Complete elements of an array, in a row in one buffer, only blanks and commas between them. The text may be changed
/// in place, from one byte before the first element to its last; the byte after the last must be put back.
struct JsonBatch {
  struct Element {
    std::size_t begin = 0, end = 0;
  };  ///< offsets into text, commas excluded
  char* text = nullptr;
  std::size_t before = 0;         ///< bytes that may be written in front of the first element: at least 1
  std::vector<Element> elements;  ///< at least one
};

class JsonHandler {
 public:
  enum class Want { skip, value, elements };
  virtual ~JsonHandler() = default;
  /// A key of the top-level object, as written; "" for a document that is an array. `elements` holds only where an
  /// array follows.
  virtual Want on_key(std::string_view key) = 0;
  /// The whole value of a key, kJsonPadding readable bytes behind it.
  virtual Result<void> on_value(std::string_view key, std::string_view json) = 0;
  virtual Result<void> on_elements(JsonBatch& batch) = 0;
  /// How an element begins after its "{", such as `"ph"`; helps to go on after one that is broken. Empty: never mind.
  virtual std::string_view element_start() const { return ""; }
};

struct JsonStreamEnd {
  bool complete = true;  ///< false: the text ends early; what came before was handed over
  std::uint64_t bytes = 0;
  std::uint64_t broken_elements = 0;  ///< left out because their quotes or brackets do not match
};

/// Errors: not JSON at the top level; a key's value or an element longer than `max_piece`.
Result<JsonStreamEnd> stream_json(ByteSource& source, const std::string& name, std::size_t window,
                                  std::size_t max_piece, JsonHandler& handler);

}  // namespace distsim::traces
