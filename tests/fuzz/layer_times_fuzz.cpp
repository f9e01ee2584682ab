// Tables of measured layer times, and what is read off them.
#include "fuzz_target.hpp"
#include "sim/serving/spec/times_table.hpp"

FUZZ_TARGET(layer_times) {
  using namespace distsim;
  const fuzz::MemoryFile file(text);
  serving::TimesTable table;
  const auto read = table.read(file.path());
  fuzz::check_answer(read);
  if (!read.ok()) return;
  for (const std::string& model : table.models()) {
    for (const std::string& gpu : table.gpus()) {
      if (!table.has(model, gpu)) continue;
      for (const std::uint32_t batch : {1u, 2u, table.largest_batch(model, gpu)}) {
        const auto layers = table.layers(model, gpu, batch);
        fuzz::check_answer(layers);
        for (std::size_t i = 0; layers.ok() && i < layers->size(); ++i) CHECK((*layers)[i] >= 0);
      }
    }
  }
}
