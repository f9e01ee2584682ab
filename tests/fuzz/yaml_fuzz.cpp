#include "base/config/config_node.hpp"
#include "fuzz_target.hpp"

FUZZ_TARGET(yaml) { distsim::fuzz::check_answer(distsim::parse_yaml(text, "fuzz.yaml")); }
