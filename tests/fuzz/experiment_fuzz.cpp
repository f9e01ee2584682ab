// Experiments: parse, merge with the shipped files that they name, resolve.
#include "experiment_input.hpp"

FUZZ_TARGET(experiment) { distsim::fuzz::check_answer(distsim::fuzz::experiment_in(text)); }
