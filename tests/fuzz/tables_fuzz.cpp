// Files that the program itself writes and reads again: op tables and learned models. Damage is found by their checksums.
#include "fuzz_target.hpp"
#include "opmodels/learned/forest_file.hpp"
#include "opmodels/measured/measured_table.hpp"

FUZZ_TARGET(tables) {
  using namespace distsim;
  fuzz::check_answer(opmodels::parse_measured_table(text));
  fuzz::check_answer(opmodels::parse_forest_file(text));
}
