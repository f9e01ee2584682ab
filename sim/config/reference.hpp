// The reference of all configuration keys, generated from the schemas that read them: it cannot go stale.
#pragma once

#include <string>
#include <vector>

namespace distsim::config {

/// docs/config_reference.md: `distsim list config --markdown > docs/config_reference.md`.
std::string reference_markdown();

/// The same for a terminal: `distsim list config`.
std::string reference_text();

/// All keys, dotted, in the order of the reference: "cluster.nodes".
std::vector<std::string> config_keys();

}  // namespace distsim::config
