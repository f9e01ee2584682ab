#include "sim/report/text/collective_table.hpp"

#include <algorithm>
#include <array>

#include "sim/report/text/columns.hpp"
#include "sim/report/text/format.hpp"

namespace distsim::report {
namespace {

enum : std::size_t { kName, kKind, kRanks, kSize, kTransfer, kExposed, kWaiting, kBus, kBasis, kColumns };
using Cells = std::array<std::string, kColumns>;

using Widths = std::array<std::size_t, kColumns>;  ///< 0: the column is left out

constexpr std::size_t kGap = 2, kLeastName = 18;

bool is_left(std::size_t column) { return column == kName || column == kKind || column == kBasis; }

Cells cells_of(const CollectiveTime& c, const TimeScale& scale) {
  return {"  " + one_line(c.name),
          c.kind,
          std::to_string(c.group_size),
          size_text(c),
          scale.text(c.total),
          scale.text(c.exposed),
          scale.text(c.waiting),
          c.busbw > 0 ? fixed(c.busbw * 1e-9, 1) : "-",
          std::string(graph::name_of(c.basis))};
}

Cells rest_of(const Report& r, std::size_t shown, const TimeScale& scale) {
  CollectiveTime sum;
  for (std::size_t i = shown; i < r.collectives.size(); ++i) {
    sum.total += r.collectives[i].total;
    sum.exposed += r.collectives[i].exposed;
    sum.waiting += r.collectives[i].waiting;
  }
  return {"  " + std::to_string(r.collectives.size() - shown) + " more",
          "",
          "",
          "",
          scale.text(sum.total),
          scale.text(sum.exposed),
          scale.text(sum.waiting),
          "",
          ""};
}

Widths widths_of(const std::vector<Cells>& table) {
  Widths widths{};
  for (const Cells& cells : table) {
    for (std::size_t c = 0; c < kColumns; ++c) widths[c] = std::max(widths[c], columns_of(cells[c]));
  }
  return widths;
}

std::size_t width_of_others(const Widths& widths) {
  std::size_t sum = 0;
  for (std::size_t c = kName + 1; c < kColumns; ++c) sum += widths[c] > 0 ? kGap + widths[c] : 0;
  return sum;
}

/// "interp.", "extrap.", "GB/s": long words give way where a collective's name has no room.
void squeeze(std::vector<Cells>& table) {
  table.front()[kBus] = "GB/s";
  for (Cells& cells : table) {
    if (cells[kBasis].size() > 8) cells[kBasis] = cells[kBasis].substr(0, 6) + ".";
  }
}

/// Gives names the room they need, or at least kLeastName; on a narrow terminal columns that the JSON report has too
/// are left out for it.
Widths fitted(std::vector<Cells>& table, std::size_t width) {
  Widths widths = widths_of(table);
  if (widths[kName] + width_of_others(widths) > width) {
    squeeze(table);
    widths = widths_of(table);
  }
  const std::size_t least = std::min(widths[kName], kLeastName);
  for (const std::size_t column : {kBasis, kBus, kKind}) {
    if (least + width_of_others(widths) > width) widths[column] = 0;
  }
  const std::size_t others = width_of_others(widths);
  widths[kName] = std::min(widths[kName], std::max(least, width > others ? width - others : 0));
  return widths;
}

std::string line_of(const Cells& cells, const Widths& widths) {
  std::string out = padded(shortened_inside(cells[kName], widths[kName]), widths[kName]);
  for (std::size_t c = kName + 1; c < kColumns; ++c) {
    if (widths[c] == 0) continue;
    out += std::string(kGap, ' ') + (is_left(c) ? padded(cells[c], widths[c]) : padded_left(cells[c], widths[c]));
  }
  return out;
}

}  // namespace

std::string size_text(const CollectiveTime& c) {
  if (c.calls <= 1) return binary_bytes(static_cast<double>(c.bytes));
  if (!c.equal_calls) return binary_bytes(static_cast<double>(c.bytes)) + " in " + std::to_string(c.calls);
  return std::to_string(c.calls) + " x " + binary_bytes(static_cast<double>(c.bytes) / c.calls);
}

std::vector<std::string> collective_lines(const Report& r, std::size_t width, std::size_t most) {
  const TimeScale scale = time_scale(r.iteration);
  const std::size_t shown = r.collectives.size() > most + 1 ? most : r.collectives.size();
  std::vector<Cells> table{
      {"collectives", "kind", "ranks", "size", scale.unit, "exposed", "waiting", "bus GB/s", "basis"}};
  for (std::size_t i = 0; i < shown; ++i) table.push_back(cells_of(r.collectives[i], scale));
  if (shown < r.collectives.size()) table.push_back(rest_of(r, shown, scale));

  const Widths widths = fitted(table, width);
  std::vector<std::string> lines;
  for (const Cells& cells : table) lines.push_back(line_of(cells, widths));
  return lines;
}

}  // namespace distsim::report
