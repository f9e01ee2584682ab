// Where a command's results go: standard output, files written atomically, and whether standard output is already
// taken.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/result.hpp"

namespace distsim {

/// Checks every output before any work is done; an empty name is not asked for. Refused are two outputs to "-" or to one
/// file, by whatever names, the file that standard output goes to, and a file that was read (protect_inputs). A command
/// with several outputs calls it again before it writes the first, when all its inputs are known.
Result<void> check_outputs(const std::vector<std::pair<std::string, std::string>>& flag_and_path);

/// Of these checks the first alone: no two outputs are one file, by whatever names. An empty name is not asked for.
Result<void> check_apart(const std::vector<std::pair<std::string, std::string>>& flag_and_path);

/// What a command writes to a file at its end; not at all where the path is empty.
struct OutputFile {
  std::string flag, path;
  std::function<Result<void>(FilesTogether&)> write;
};

/// One of a text that is made when it is written.
OutputFile text_file(std::string flag, std::string path, std::function<std::string()> text);

/// Checks and writes each, all files or none; what goes to standard output, a pipe or a device goes there whatever becomes of the
/// others, for it may be hours of work. Error: that of the first that cannot be written.
Result<void> write_output_files(const std::vector<OutputFile>& outputs);

/// The same, and prints the text, whatever becomes of the files, unless one of the outputs goes to standard output.
Result<void> write_and_print(const std::vector<OutputFile>& outputs, const std::function<std::string()>& text);

/// For CLI11's check(): refuses an empty file name, as `--json "$UNSET"` gives one.
std::string refuse_empty(const std::string& path);

/// Likewise, and standard output by any name: what is kept there cannot be read again.
std::string refuse_stdout(const std::string& path);

/// True if one of the paths is "-" or /dev/stdout: the text summary is then not printed.
bool takes_stdout(const std::vector<std::pair<std::string, std::string>>& flag_and_path);

/// Writes a report to standard output, through console_text; an error when it cannot be written (closed pipe, full disk).
Result<void> print(const std::string& report);

/// For programs that write to stdout line by line: an error when something of it could not be written.
Result<void> check_printed();

/// Writes one line on standard error, through message_line: "distsim: ...".
void remark(std::string_view text);

/// "distsim sweep: 3/12" on standard error, only if that is a terminal.
class ProgressLine {
 public:
  ProgressLine(std::string what, std::size_t total);
  ~ProgressLine();
  void advance();

 private:
  std::string what_;
  std::size_t total_, done_ = 0;
  bool shown_;
};

}  // namespace distsim
