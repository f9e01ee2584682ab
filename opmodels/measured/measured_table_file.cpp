// The text of a MeasuredTable: written, and read back with every field checked.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>
#include <utility>

#include "opmodels/checked_text.hpp"
#include "opmodels/measured/measured_table.hpp"

namespace distsim::opmodels {
namespace {

constexpr std::string_view kMagic = "distsim-ops 1\n", kScaled = " scaled";

void append(std::string& out, double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 9);
  out += ' ';
  out.append(text, end.ptr);
}

void append_hex(std::string& out, std::uint64_t value) {
  char text[17];
  const auto end = std::to_chars(text, text + sizeof text, value, 16);
  out.append(text, end.ptr);
}

std::string_view take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

template <class T, class... Base>
bool take_number(std::string_view& rest, T& value, Base... base) {
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, base...);
  if (error != std::errc()) return false;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return true;
}

bool is_time(double us) { return us > 0 && us < 1e12; }

Result<MeasuredPoint> parse_point(std::string_view line, std::size_t number) {
  MeasuredPoint p;
  std::string_view rest = line;
  bool good = take_number(rest, p.point.group, 16);
  for (float& x : p.point.at) good = good && take_number(rest, x) && std::isfinite(x);
  good = good && take_number(rest, p.measured_us) && take_number(rest, p.models_us);
  if (good && rest.ends_with(kScaled)) {
    rest.remove_suffix(kScaled.size());
    p.scaled = true;
  }
  if (good && !rest.empty())
    good = take_number(rest, p.low_us) && take_number(rest, p.high_us) && rest.empty() && p.low_us > 0 &&
           p.low_us <= p.measured_us && p.measured_us <= p.high_us && is_time(p.high_us);
  if (good && is_time(p.measured_us) && is_time(p.models_us)) return p;
  return Error{
      "line " + std::to_string(number) + ": found '" + std::string(line.substr(0, 80)) +
          "', expected a group, six coordinates and two positive times, or with a range that holds the first, or scaled",
      "", ""};
}

Result<std::string_view> checked_body(std::string_view text) {
  if (!text.starts_with(kMagic))
    return Error{"found a different kind of file, expected a table of measured ops (distsim-ops 1)", "", ""};
  TRY_ASSIGN(const std::string_view body, checked_text(text, "table", "distsim calibrate ops"));
  return body.substr(kMagic.size());
}

}  // namespace

std::string MeasuredTable::text() const {
  std::vector<const MeasuredPoint*> sorted;
  for (const MeasuredPoint& p : points_) sorted.push_back(&p);
  std::sort(sorted.begin(), sorted.end(), [](const MeasuredPoint* a, const MeasuredPoint* b) {
    return std::tie(a->point.group, a->point.at) < std::tie(b->point.group, b->point.at);
  });
  std::string out(kMagic);
  out += "device " + device_ + "\nlibrary " + library_ + "\n";
  for (const MeasuredPoint* p : sorted) {
    append_hex(out, p->point.group);
    for (const float x : p->point.at) append(out, static_cast<double>(x));
    append(out, p->measured_us);
    append(out, p->models_us);
    if (p->low_us > 0) append(out, p->low_us), append(out, p->high_us);
    if (p->scaled) out += kScaled;
    out += '\n';
  }
  return with_checksum(std::move(out));
}

Result<MeasuredTable> parse_measured_table(std::string_view text) {
  TRY_ASSIGN(std::string_view rest, checked_body(text));
  std::string device, library;
  std::vector<MeasuredPoint> points;
  for (std::size_t number = 2; !rest.empty(); ++number) {
    const std::string_view line = take_line(rest);
    if (line.starts_with("device "))
      device = line.substr(7);
    else if (line.starts_with("library "))
      library = line.substr(8);
    else {
      TRY_ASSIGN(const MeasuredPoint point, parse_point(line, number));
      points.push_back(point);
      if (points.size() > MeasuredTable::kMaxPoints)
        return Error{"found more points than " + std::to_string(MeasuredTable::kMaxPoints), "", ""};
    }
  }
  return MeasuredTable(std::move(device), std::move(library), std::move(points));
}

}  // namespace distsim::opmodels
