// The picture of a validation: predicted against measured, and every scaling series.
#pragma once

#include <string>
#include <vector>

#include "sim/study/validate/validate.hpp"

namespace distsim::study {

/// One SVG, no scripts, no fonts of its own: on top a scatter of predicted over measured time, both logarithmic,
/// coloured by family, with the lines of equality and of +-20 %; below a small chart for each scaling series (cases
/// that differ in GPUs alone, at least three sizes): measured and predicted time over GPUs. Cases without a prediction
/// are left out of the picture (the summary lists them).
std::string validation_plot(const std::vector<ValidatedCase>& cases);

}  // namespace distsim::study
