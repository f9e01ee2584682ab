#include "collectives/curve_file/curve_checksum.hpp"

#include "base/fnv.hpp"
#include "collectives/curve_file/curve.pb.h"

namespace distsim::curves {

namespace {

std::string sum_of(const CurveFile& file, bool with_use) {
  Fnv64 fnv;
  fnv.add(std::string_view(file.system()));
  fnv.add(std::string_view(file.device()));
  if (with_use && file.partial()) fnv.add(std::string_view("partial"));
  for (const Curve& c : file.curves()) {
    fnv.add(std::string_view(c.kind()));
    for (const double v : {static_cast<double>(c.ranks()), static_cast<double>(c.nodes()),
                           c.launch() == "single_process" ? 1.0 : 0.0, c.cuda_graph() ? 1.0 : 0.0})
      fnv.add(v);
    if (c.groups_at_once() > 1)
      fnv.add(std::string_view("beside others"));  // these bytes are in files; older files have none of it
    if (with_use && c.groups_at_once() == 1) fnv.add(std::string_view("alone"));
    if (with_use && !c.not_used().empty()) fnv.add(std::string_view("not used: " + c.not_used()));
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

}  // namespace

std::string checksum_of(const CurveFile& file) { return sum_of(file, true); }

std::string older_checksum_of(const CurveFile& file) { return sum_of(file, false); }

}  // namespace distsim::curves
