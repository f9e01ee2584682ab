// Columns of a case file that are keys and change no prediction.
#pragma once

#include <string>
#include <vector>

#include "sim/study/validate/case_file.hpp"

namespace distsim::study {

/// In the order of the header; none of a file that is read through a column table. A column is held to have an effect as
/// soon as one of its cells has: those of different models are tried first, so that it costs two predictions a model at
/// most where it has. `jobs`: threads, a column each.
std::vector<std::string> columns_without_effect(const CaseFile& file, unsigned jobs);

}  // namespace distsim::study
