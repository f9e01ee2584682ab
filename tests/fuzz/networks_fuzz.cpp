// Networks and systems as ASTRA-sim describes them.
#include "fuzz_target.hpp"
#include "sim/chakra/astra_network.hpp"
#include "topology/shapes/dimension_network.hpp"

FUZZ_TARGET(networks) {
  using namespace distsim;
  const auto network = topology::parse_dimension_network(text, "network.yml");
  fuzz::check_answer(network);
  if (network.ok())
    CHECK(network->ranks() > 1 && network->place_of(network->ranks() - 1).size() == network->dimensions.size());
  const fuzz::MemoryFile sound("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 400.0 ]\nlatency: [ 900.0 ]\n"),
      system(text);
  fuzz::check_answer(chakra::read_astra_network(sound.path(), system.path()));
}
