// Checksum of the rows of a curve file: FNV-1a, 64 bit, over what a price depends on. It tells a file that was edited or damaged, not one that was forged.
#include <cstdio>

#include "collectives/curve_set.hpp"

namespace distsim::collectives {

namespace {

class Fnv {
 public:
  void add(std::string_view text) {
    for (char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
    hash_ = (hash_ ^ 0xFF) * 0x100000001B3ull;  // so that "ab","c" and "a","bc" differ
  }
  void add(double v) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", v);
    add(std::string_view(text));
  }
  std::string hex() const {
    char text[20];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash_));
    return text;
  }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325ull;
};

}  // namespace

std::string checksum_of(const CurveSet& set) {
  Fnv fnv;
  fnv.add(set.system);
  fnv.add(set.device);
  for (const Curve& c : set.curves) {
    fnv.add(name_of(c.kind));
    for (double v : {double(c.ranks), double(c.nodes), double(c.single_process), double(c.cuda_graph)}) fnv.add(v);
    fnv.add(c.settings);
    for (const CurvePoint& p : c.points) {
      for (double v : {p.bytes, p.time_us, p.low_us, p.high_us}) fnv.add(v);
    }
  }
  return fnv.hex();
}

}  // namespace distsim::collectives
