// Reading files, and writing them atomically.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace distsim {

/// Whole file as text; refuses folders, what cannot be read, files over max_bytes and devices over 1 MiB, naming the path.
Result<std::string> read_file(const std::string& path, std::size_t max_bytes);

/// Writes `contents` so that a reader sees either the old file or all of the new one: temporary file next to the
/// target, fsync, rename. On any failure the temporary is removed and the target untouched. "-" is standard output.
Result<void> write_file_atomically(const std::string& path, std::string_view contents);

/// The same for output that is produced as a stream (large timelines): `produce` writes to the stream it is given.
/// Flushed, checked and renamed only if `produce` returns success.
Result<void> write_stream_atomically(const std::string& path,
                                     const std::function<Result<void>(std::ostream&)>& produce);

/// Files that belong together, as the outputs of one command: each is written whole under a temporary name, and only when
/// all are do they replace what was there, one rename after the other. A disk that fills up leaves all as they were.
class FilesTogether {
 public:
  FilesTogether();
  ~FilesTogether();  ///< removes what was not kept
  FilesTogether(const FilesTogether&) = delete;
  FilesTogether& operator=(const FilesTogether&) = delete;

  /// As write_file_atomically and write_stream_atomically, but for the rename. What cannot be replaced (standard output,
  /// pipes, devices) is written at once.
  Result<void> write(const std::string& path, std::string_view contents);
  Result<void> write_stream(const std::string& path, const std::function<Result<void>(std::ostream&)>& produce);
  /// Gives the files their names, in the order of writing. Error: one is an input that was read since (protected_inputs.hpp).
  Result<void> keep();

 private:
  struct Written;
  std::vector<std::unique_ptr<Written>> files_;
};

/// From now on no write replaces a file that is read: writes are refused by device and inode, through links too. What was
/// read before is forgotten. For programs; a library leaves it to them.
void protect_inputs();

/// Says that the open file, or what is at `path`, is an input. open_input (base/system/inputs/open_input.hpp) says so itself.
void note_input(int fd);
void note_input(const std::string& path);

/// Says that the files of a folder whose names `takes` accepts are inputs, also one that is not there yet: an output of such
/// a name would be read the next time.
void note_input_folder(const std::string& folder, std::function<bool(std::string_view name)> takes);

/// Checks, before any work is done, that `path` can be written: its folder exists and is writable, and it has not
/// been read. "-" always can.
Result<void> check_writable(const std::string& path);

}  // namespace distsim
