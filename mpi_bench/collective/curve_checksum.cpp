#include "mpi_bench/collective/curve_checksum.hpp"

#include "base/fnv.hpp"
#include "collectives/curves/curve.pb.h"

namespace distsim::bench {

std::string checksum_of(const curves::CurveFile& file) {
  Fnv64 fnv;
  fnv.add(std::string_view(file.system()));
  fnv.add(std::string_view(file.device()));
  for (const curves::Curve& c : file.curves()) {
    fnv.add(std::string_view(c.kind()));
    for (const double v : {static_cast<double>(c.ranks()), static_cast<double>(c.nodes()),
                           c.launch() == "single_process" ? 1.0 : 0.0, c.cuda_graph() ? 1.0 : 0.0})
      fnv.add(v);
    if (c.groups_at_once() > 1) fnv.add(std::string_view("beside others"));
    fnv.add(std::string_view(c.settings()));
    for (const curves::Point& p : c.points()) {
      for (const double v : {static_cast<double>(p.bytes()), p.time_us(), p.low_us(), p.high_us()}) fnv.add(v);
    }
  }
  return fnv.hex();
}

}  // namespace distsim::bench
