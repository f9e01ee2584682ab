// The door through which files are read: no folder, no pipe that hangs, and every file noted as an input.
#pragma once

#include <istream>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/system/descriptor.hpp"

namespace distsim {

/// How long the other end of a named pipe may take to come. An unnamed one (/dev/stdin, <(...)) has had its other end.
constexpr int kPipeSeconds = 3;

/// Opens for reading and notes the file as an input (base/file.hpp, protect_inputs). Errors: cannot be opened, a folder,
/// a named pipe that nobody writes to within kPipeSeconds.
Result<Descriptor> open_input(const std::string& path);

/// The number of an open file of this process that a path names, through whatever links: /dev/fd/3, /proc/self/fd/3,
/// /dev/stderr.
std::optional<int> own_descriptor(const std::string& path);

/// Opens a pipe or device for writing, or goes on where an open file of this process is. Errors: a named pipe that nobody
/// reads within kPipeSeconds; a descriptor that is not open for writing.
Result<Descriptor> open_special_output(const std::string& path);

/// The same as a stream. An error of reading is a std::system_error from the stream's buffer, which the functions of
/// std::istream turn into bad().
Result<std::unique_ptr<std::istream>> open_input_stream(const std::string& path);

/// Standard input, likewise, handed out as it comes; a signal that asks for an early end (EarlyEnd) ends it.
std::unique_ptr<std::istream> standard_input();

}  // namespace distsim
