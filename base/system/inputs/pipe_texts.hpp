// What came through pipes without a name (/dev/stdin, <(...)): they give it once, and a command may ask again.
#pragma once

#include <optional>
#include <string>

namespace distsim {

/// What was read of the pipe that the path names; nullopt: no pipe without a name, or none that was read.
std::optional<std::string> text_of_pipe(const std::string& path);

/// Keeps what was read of an open file for text_of_pipe(), where it is a pipe without a name. Of more than 16 MiB nothing is
/// kept: such inputs are read once.
void keep_text_of_pipe(int fd, const std::string& text);

/// Whether an open pipe is one that a path of a file system names.
bool has_name(int pipe);

}  // namespace distsim
