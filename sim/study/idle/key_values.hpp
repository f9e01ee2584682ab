// Values of keys: those that say what would hold anyway, and others that could stand in their place.
#pragma once

#include <optional>
#include <string>

#include "sim/study/idle/key_paths.hpp"

namespace distsim::study::idle {

/// The key as the reference names it: model.program.steps.2.size -> model.program.steps[].size.
std::string reference_key(const Path& path);

/// Where the merged experiment has a key: that of a layout in the model stands in the section parallel.
Path merged_place(const Path& path);

/// Whether a key says what would hold without it: by the file that its section names, or by its default. `rest`: the merged
/// experiment without the key.
bool repeats(const Given& given, const ConfigNode& rest);

/// The word of keys whose value is worked out.
constexpr const char* kAutomatic = "automatic";

/// Whether kAutomatic holds without the key.
bool replaces_automatic(const Given& given, const ConfigNode& rest);

/// The tree with the number at the end of the path so many times as large, unit and all, of whole numbers the lower whole
/// one; nothing where it is no number, or where a whole one would be zero, which stands for what holds anyway.
std::optional<ConfigNode> scaled(const ConfigNode& root, const Path& path, double factor);

/// Whether without the key another number would hold, which is neither zero nor negative: such numbers stand for what other
/// keys say.
bool replaces_number(const Given& given, const ConfigNode& rest);

}  // namespace distsim::study::idle
