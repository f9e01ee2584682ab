// Which files are inputs, and which would be the next time: no output takes their place. Programs ask for it with
// protect_inputs (base/file.hpp), which also notes single files; every write asks here.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace distsim {

/// Says that files of a folder of configurations, which predictions read, are inputs: those whose names end in `ending`
/// (".ops"; "/nccl.yaml" is one whole name), also one that is not there yet. Saying it again changes nothing.
void note_input_endings(const std::string& folder, std::string_view ending);

/// Says that the output at `path` is made to be read in such a folder, as a table of ops among others: it may be written there,
/// by a name that ends in `ending`.
void note_made_input(const std::string& path, std::string_view ending);

/// Errors: the file at `path` has been read.
Result<void> check_not_read(const std::string& path);

/// Errors: the file at `path` has been read, or would be the next time, in a folder of inputs. Unlike check_writable it asks
/// for nothing else, not even for the folder to be there.
Result<void> check_not_input(const std::string& path);

}  // namespace distsim
