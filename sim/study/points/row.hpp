// What a study keeps of a point: plain data that a journal, a message or a table holds and gives back to the bit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distsim::study {

/// Figures and texts in an order of the study's own. A point without a prediction has a reason in `error`, and usually
/// nothing else.
struct Row {
  std::vector<double> figures;
  std::vector<std::string> texts;
  std::string error;
  bool is_unfinished =
      false;  ///< somebody asked for the end before it was whole: not kept, so that --resume begins it again
};

/// Bytes of a row: counts and lengths as varints, a figure as its eight bytes, the least first. Equal rows have equal
/// bytes on every machine.
std::string encode(const Row& row);

/// Nothing where the bytes are not those of a row.
std::optional<Row> decode_row(std::string_view bytes);

/// The rows of a study by the number of their point, kept as bytes: about a third of what Row takes.
class Rows {
 public:
  explicit Rows(std::size_t count = 0) : bytes_(count) {}
  std::size_t size() const { return bytes_.size(); }
  std::size_t known() const { return known_; }
  bool has(std::size_t index) const { return !bytes_[index].empty(); }
  /// REQUIRES: has(index).
  Row at(std::size_t index) const;
  std::string_view bytes(std::size_t index) const { return bytes_[index]; }
  /// False, and nothing changes, where the point has a row already.
  bool add(std::size_t index, std::string bytes);

 private:
  std::vector<std::string> bytes_;
  std::size_t known_ = 0;
};

}  // namespace distsim::study
