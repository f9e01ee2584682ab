#include "collectives/curve_file/curve_checksum.hpp"

#include "base/fnv.hpp"
#include "collectives/curve_file/curve.pb.h"

namespace distsim::curves {

std::string checksum_of(const CurveFile& file) {
  Fnv64 fnv;
  fnv.add(std::string_view(file.system()));
  fnv.add(std::string_view(file.device()));
  for (const Curve& c : file.curves()) {
    fnv.add(std::string_view(c.kind()));
    for (const double v : {static_cast<double>(c.ranks()), static_cast<double>(c.nodes()),
                           c.launch() == "single_process" ? 1.0 : 0.0, c.cuda_graph() ? 1.0 : 0.0})
      fnv.add(v);
    if (c.groups_at_once() > 1)
      fnv.add(std::string_view("beside others"));  // these bytes are in files; older files have none of it
    if (!c.timed_by().empty()) fnv.add(std::string_view(c.timed_by()));
    if (c.launch_floor_us() > 0) fnv.add(c.launch_floor_us());
    fnv.add(std::string_view(c.settings()));
    for (const Point& p : c.points()) {
      if (p.flagged() || p.bytes() == 0) continue;
      for (const double v : {static_cast<double>(p.bytes()), p.time_us(), p.low_us(), p.high_us()}) fnv.add(v);
    }
  }
  return fnv.hex();
}

}  // namespace distsim::curves
