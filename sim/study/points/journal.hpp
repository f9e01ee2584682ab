// Journals: every finished point of a study in a file, so that a run that ends early goes on where it stopped.
//
//   "distsim journal\n"                                   16 bytes
//   record*     marker D1 57 51 4A, length, checksum      3 x 4 bytes, the least first; checksum: CRC-32 of length and payload
//               payload                                   `length` bytes
// The first record's payload is the study's identity (facts as the texts of a Row: name, value, name, ...), that of the others
// the number of a point (8 bytes) and its row (row.hpp), or eight bytes FF and more facts: of files that were not there when it
// was begun, and were when it was gone on with. A journal only grows, record by record. What a stopped write left at its
// end is cut off when it is opened; records elsewhere that are damaged are passed over, and their points evaluated
// again.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "base/system/append_file.hpp"
#include "sim/study/points/identity.hpp"

namespace distsim::study {

class Journal {
 public:
  /// A point of the journal, in its order; false where the row is none, or is there already.
  using OnRow = std::function<bool(std::uint64_t index, std::string bytes)>;

  /// Begins a journal, or with `resume` goes on with the one that is there, which may lack files_since() then. Errors: see
  /// AppendFile::open; there is one, and `resume` was not said; it is none, or of another study or version. An Error changes
  /// nothing in the file.
  static Result<Journal> open(const std::string& path, const Identity& identity, bool resume, const OnRow& on_row);

  /// Writes to the file when that is worth it; the disk has it about a second later.
  Result<void> add(std::uint64_t index, std::string_view row);

  /// Writes what is left to write, at most `age` old, and waits for the disk where the last wait is a second ago.
  Result<void> keep();

  /// All of it is on the disk.
  Result<void> finish();

 private:
  explicit Journal(AppendFile file);
  Result<void> write();
  AppendFile file_;
  std::string unwritten_;
  bool unsynced_ = false;
  std::chrono::steady_clock::time_point synced_at_;
};

}  // namespace distsim::study
