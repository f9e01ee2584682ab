// The file of one learned model (*.forest), little-endian:
//
//   8 bytes  "dsforest"        u32 version (1)        u32 length of the text
//   text     lines "kernel NAME", "data WHAT IT WAS TRAINED ON"; one line per feature: "feature NAME free" or "feature
//            NAME LOW HIGH"; one per device that it was trained on: "device SMS BALANCE L2_BALANCE SM_RATE L2_PER_SM
//            CAPABILITY [GB/S_OF_MEMORY US_OF_AN_EMPTY_KERNEL WIDTHS]", its features, the two figures that they leave open, and
//            the bytes of an element that it is a reference for (references.hpp): "2+4", "none"
//   for each feature, in order:    u16 count, that many f32 thresholds, rising
//   three forests (median, low, high):  f32 base, f32 leaf unit, u32 trees; a tree is its nodes in preorder:
//       u8 feature, u8 threshold's index        a split, smaller goes left (the first of the two subtrees that follow)
//       u8 255,     i16 leaf in leaf units      a leaf
//   u32 CRC-32 (zlib) of all bytes before it
#pragma once

#include <string_view>

#include "opmodels/learned/learned_models.hpp"

namespace distsim::opmodels {

/// Errors: another magic or version, truncation at any byte, a checksum that does not match, an unknown kernel or
/// feature (a model for another version of the features: train it again), indices out of range, values that are not
/// finite, more than 4096 trees or 64 levels.
Result<LearnedModel> parse_forest_file(std::string_view bytes);

}  // namespace distsim::opmodels
