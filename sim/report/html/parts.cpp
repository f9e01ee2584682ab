#include "sim/report/html/parts.hpp"

#include "base/text/markup.hpp"
#include "sim/report/text/columns.hpp"
#include "sim/report/text/format.hpp"

namespace distsim::report::html {

std::string escaped(std::string_view text) { return in_markup(one_line(text)); }

std::string_view css_of(Colour colour) {
  switch (colour) {
    case Colour::forward:
      return "forward";
    case Colour::backward:
      return "backward";
    case Colour::optimizer:
      return "optimizer";
    case Colour::other:
      return "other";
    case Colour::transfer:
      return "transfer";
    case Colour::waiting:
      return "waiting";
    case Colour::host:
      return "host";
    case Colour::idle:
      return "idle";
  }
  return "other";
}

Colour colour_of(std::optional<graph::Phase> phase, bool collective) {
  if (collective) return Colour::transfer;
  if (!phase) return Colour::host;
  switch (*phase) {
    case graph::Phase::forward:
      return Colour::forward;
    case graph::Phase::backward:
      return Colour::backward;
    case graph::Phase::optimizer:
      return Colour::optimizer;
    default:
      return Colour::other;
  }
}

bool is_comm(graph::Stream stream) {
  return stream.kind() == graph::StreamKind::comm || stream.kind() == graph::StreamKind::p2p;
}

std::string in_unit(const Report& report, Duration d) { return time_scale(report.iteration).text(d); }

double share_of(const Report& r, Duration d) {
  return r.iteration.ps() > 0 ? 100.0 * static_cast<double>(d.ps()) / static_cast<double>(r.iteration.ps()) : 0;
}

}  // namespace distsim::report::html
