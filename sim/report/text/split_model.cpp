#include "sim/report/text/split_model.hpp"

#include <algorithm>
#include <array>

#include "base/text/quantity_text.hpp"
#include "sim/report/text/format.hpp"

namespace distsim::report {
namespace {

// Of what PyTorch's caching allocator has reserved at its peak, up to 33 % was not in use, 15 % in the mean of eight language
// models trained on A100s (GMLake, arXiv 2401.08156); one that holds 5 % or less is usual too.
constexpr double kMostFragmented = 0.33;

constexpr std::array<std::string_view, 4> kNamed{"tensor", "context", "expert", "pipeline"};

std::string_view dimension_of(std::string_view name) {
  for (const std::string_view dimension : kNamed) {
    if (name.starts_with(dimension) && name.substr(dimension.size()).starts_with(".")) return dimension;
  }
  return "data";
}

std::string memory_text(const ReportContext::Memory& m) {
  std::string out;
  for (const auto& [what, bytes] : m.kinds) {
    if (bytes <= 0) continue;
    out += (out.empty() ? "" : ", ") + what + " " + format_decimal_bytes(bytes);
  }
  return out;
}

/// "tensor 230 ms of 1245 ms". Without the transfers ranks and stages also stand still for less time, so that more than they
/// take may be exposed: "tensor 2934 ms of 2934 ms and 147 ms of delays that they cause".
std::string exposed_text(const DimensionTime& d) {
  const std::string text =
      d.dimension + " " + time_text(std::min(d.exposed, d.transfer)) + " of " + time_text(d.transfer);
  return d.exposed > d.transfer ? text + " and " + time_text(d.exposed - d.transfer) + " of delays that they cause"
                                : text;
}

}  // namespace

std::vector<DimensionTime> dimensions_of(const Report& report) {
  std::vector<DimensionTime> out;
  for (const CollectiveTime& c : report.collectives) {
    const std::string_view dimension = dimension_of(c.name);
    auto it = std::find_if(out.begin(), out.end(), [&](const auto& d) { return d.dimension == dimension; });
    if (it == out.end()) it = out.insert(out.end(), {std::string(dimension), {}, {}});
    it->transfer += c.total;
    it->exposed += c.exposed;
  }
  // What collectives expose one by one may add up to more than all of them together do.
  for (DimensionTime& d : out)
    d.exposed = out.size() == 1 ? report.exposed_comm : std::min(d.exposed, report.exposed_comm);
  return out;
}

ReservedMemory reserved_memory(const ReportContext& c) {
  if (c.memory_per_rank.empty()) return {};
  const std::int64_t used = *std::ranges::max_element(c.memory_per_rank);
  const auto most = static_cast<std::int64_t>(static_cast<double>(used) / (1 - kMostFragmented));
  return {used, std::max(used, c.memory_capacity > 0 ? std::min(most, c.memory_capacity) : most)};
}

double tokens_per_second(const Report& report) { return report.samples_per_second * report.context.tokens_per_sample; }

std::vector<std::string> split_model_lines(const Report& r) {
  const double tokens = tokens_per_second(r);
  if (tokens <= 0) return {};
  std::vector<std::string> out{fixed(tokens, 0) + " tokens/s, " + fixed(tokens / r.rank_count, 1) + " per GPU"};
  std::string exposed;
  for (const DimensionTime& d : dimensions_of(r)) exposed += (exposed.empty() ? "" : ", ") + exposed_text(d);
  const double bubble = r.iteration > Duration() ? r.idle.seconds() / r.iteration.seconds() : 0;
  if (!exposed.empty()) out.push_back("exposed communication: " + exposed);
  if (bubble >= 0.001) out.push_back("pipeline bubble and other idle time: " + fixed(100 * bubble, 1) + " %");
  for (const ReportContext::Memory& m : r.context.memory)
    out.push_back("memory of rank " + std::to_string(m.rank) + ": " + memory_text(m));
  if (const ReservedMemory m = reserved_memory(r.context); m.high > 0)
    out.push_back("reserved by its allocator, without and with fragmentation: " +
                  decimal_bytes(static_cast<double>(m.low)) + " .. " + decimal_bytes(static_cast<double>(m.high)));
  return out;
}

}  // namespace distsim::report
