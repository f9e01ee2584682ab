// The picture of the ranks: a column each, stacked as the iteration is.
#include <algorithm>

#include "sim/report/html/parts.hpp"
#include "sim/report/text/format.hpp"

namespace distsim::report::html {
namespace {

constexpr std::uint32_t kMostColumns = 128;

void column_part(std::string& out, double x, double width, double& y, double height, Colour colour) {
  if (height <= 0) return;
  y -= height;
  out += "<rect class=\"" + std::string(css_of(colour)) + "\" x=\"" + fixed(x, 2) + "\" y=\"" + fixed(y, 2) +
         "\" width=\"" + fixed(width, 2) + "\" height=\"" + fixed(height, 2) + "\"/>";
}

}  // namespace

std::string ranks_picture(const Report& r) {
  if (r.ranks.size() <= 1 || r.iteration.ps() <= 0) return "";
  const auto columns = static_cast<std::uint32_t>(std::min<std::size_t>(r.ranks.size(), kMostColumns));
  const double pitch = 1080.0 / columns, width = pitch * (columns > 64 ? 0.9 : 0.78), full = 110;
  const TimeScale scale = time_scale(r.iteration);
  std::string body;
  for (std::uint32_t i = 0; i < columns; ++i) {
    const auto rank = static_cast<std::uint32_t>(std::uint64_t{i} * r.ranks.size() / columns);
    const RankTime& t = r.ranks[rank];
    const auto part = [&](Duration d) {
      return full * static_cast<double>(d.ps()) / static_cast<double>(r.iteration.ps());
    };
    const double x = i * pitch + (pitch - width) / 2;
    double y = full;
    body += "<g><title>rank " + std::to_string(rank) + ": compute " + scale.text(t.compute) +
            ", exposed communication " + scale.text(t.exposed_comm) + ", waiting " + scale.text(t.waiting) + ", host " +
            scale.text(t.host_bound) + ", idle " + scale.text(t.idle) + " " + scale.unit + "</title>";
    column_part(body, x, width, y, part(t.compute), Colour::forward);
    column_part(body, x, width, y, part(t.exposed_comm), Colour::transfer);
    column_part(body, x, width, y, part(t.waiting), Colour::waiting);
    column_part(body, x, width, y, part(t.host_bound), Colour::host);
    column_part(body, x, width, y, part(t.idle), Colour::idle);
    body += "</g>";
    const std::uint32_t every = columns <= 32 ? 1 : columns <= 64 ? 2 : 8;
    if (i % every == 0)
      body += "<text text-anchor=\"middle\" x=\"" + fixed(i * pitch + pitch / 2, 1) + "\" y=\"124\">" +
              std::to_string(rank) + "</text>";
  }
  return "<svg viewBox=\"0 0 1080 128\" role=\"img\" aria-label=\"Each rank's iteration\">" + body + "</svg>";
}

}  // namespace distsim::report::html
