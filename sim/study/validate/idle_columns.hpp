// Columns of a case file that are keys and change no prediction.
#pragma once

#include <string>
#include <vector>

#include "sim/study/validate/case_file.hpp"

namespace distsim::study {

/// In the order of the header; none of a file that is read through a column table. Tried are the first and the last case of
/// each model that fill the column, until one of them is changed by it. `jobs`: threads, a column each.
std::vector<std::string> columns_without_effect(const CaseFile& file, unsigned jobs);

}  // namespace distsim::study
