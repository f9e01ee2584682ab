// Checksum of the rows of a curve file: FNV-1a, 64 bit, over what a price depends on. It tells a file that was edited
// or damaged, not one that was forged.
#include "base/fnv.hpp"
#include "collectives/curves/curve_set.hpp"

namespace distsim::collectives {

std::string checksum_of(const CurveSet& set) {
  Fnv64 fnv;
  fnv.add(set.system);
  fnv.add(set.device);
  for (const Curve& c : set.curves) {
    fnv.add(graph::name_of(c.kind));
    for (double v : {double(c.ranks), double(c.nodes), double(c.single_process), double(c.cuda_graph)}) fnv.add(v);
    if (c.groups_at_once > 1) fnv.add("beside others");  // files from before this counted have none of it
    fnv.add(c.settings);
    for (const CurvePoint& p : c.points) {
      for (double v : {p.bytes, p.time_us, p.low_us, p.high_us}) fnv.add(v);
    }
  }
  return fnv.hex();
}

}  // namespace distsim::collectives
