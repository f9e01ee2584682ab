// What lies in a user's configuration folder ($DISTSIM_CONFIGS) and is never looked for, because it is called otherwise than
// what is.
#pragma once

#include <string>
#include <vector>

namespace distsim::config {

/// The names of the folders that are looked into: "systems", "devices", ...
std::vector<std::string> config_rooms();

/// Says that what ends as a file of its folder of this root is an input (base/system/inputs/protected_inputs.hpp): an output there
/// would be read by every later prediction.
void note_rooms(const std::string& root);

/// Remarks, a few at most: folders that are nearly called like one of ours ("system"), files in ours with another ending
/// ("systems/mine.yml", "curves/all_reduce.log"), a folder that holds nothing of ours. READMEs, licences, hidden files and
/// what a file of configurations there names ("models/x.onnx") are none.
std::vector<std::string> unread_in(const std::string& root);

}  // namespace distsim::config
