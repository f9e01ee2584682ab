// Journals of studies: rows, and what follows a whole beginning.
#include "base/file.hpp"
#include "fuzz_target.hpp"
#include "sim/study/points/journal.hpp"
#include "sim/study/points/row.hpp"

FUZZ_TARGET(journal) {
  using namespace distsim;
  static const std::string beginning = [] {
    const fuzz::MemoryFile file("");
    CHECK(study::Journal::open(file.path(), {}, false, {})->finish().ok());
    return *read_file(file.path(), 1 << 20);
  }();
  if (const auto row = study::decode_row(text))
    CHECK(study::encode(*study::decode_row(study::encode(*row))) == study::encode(*row));
  for (const std::string& whole : {std::string(text), beginning + std::string(text)}) {
    const fuzz::MemoryFile file(whole);
    fuzz::check_answer(study::Journal::open(
        file.path(), {}, true, [](std::uint64_t, std::string bytes) { return study::decode_row(bytes).has_value(); }));
  }
}
