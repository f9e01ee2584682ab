// A pipeline's schedule as JSON.
#include <array>
#include <cmath>

#include "base/json/json_text.hpp"
#include "sim/report/picture/stage_rows.hpp"

namespace distsim::report {
namespace {

using RowJson = nlohmann::ordered_json;

constexpr std::uint32_t kMostScheduleRows = 64;
constexpr std::size_t kBusyWorks = kStageWorks - 1;  // without idle

/// One row at a resolution.
class ScheduleRow {
 public:
  ScheduleRow(const StageRow& row, std::int64_t begin, std::int64_t least) : begin_(begin) {
    const auto& all = row.slices;
    for (std::size_t i = 0; i < all.size();) {
      std::size_t end = i + 1;
      while (end < all.size() && all[end - 1].end - all[i].begin < least && all[end].end - all[end].begin < least)
        ++end;
      if (end == i + 1)
        add(all[i]);
      else
        add_stack(all, i, end);
      i = end;
    }
  }
  std::size_t size() const { return boxes_; }
  RowJson slices = RowJson::array(), stacks = RowJson::array();

 private:
  void add(const StageSlice& s) {
    if (s.work == StageWork::idle) return;
    ++boxes_;
    for (const std::int64_t v : {s.begin - begin_, s.end - s.begin, static_cast<std::int64_t>(s.work),
                                 s.pass == nullptr ? 0 : s.pass->micro_batch + 1,
                                 s.pass == nullptr ? 0 : static_cast<std::int64_t>(s.pass->chunk)})
      slices.push_back(v);
  }
  void add_stack(const std::vector<StageSlice>& all, std::size_t first, std::size_t end) {
    ++boxes_;
    std::array<double, kStageWorks> time{};
    for (std::size_t i = first; i < end; ++i)
      time[static_cast<std::size_t>(all[i].work)] += static_cast<double>(all[i].end - all[i].begin);
    const std::int64_t length = all[end - 1].end - all[first].begin;
    stacks.push_back(all[first].begin - begin_);
    stacks.push_back(length);
    for (std::size_t w = 0; w < kBusyWorks; ++w)
      stacks.push_back(std::lround(1000 * time[w] / static_cast<double>(length)));
  }

  const std::int64_t begin_;
  std::size_t boxes_ = 0;
};

}  // namespace

std::string schedule_json(const Played& played, const graph::PipelineOrder& order, std::size_t most) {
  const std::optional<StageRows> found = stage_rows(played, order, kMostScheduleRows);
  if (!found) return "";
  const std::int64_t span = found->end - found->begin;
  RowJson rows;
  for (std::int64_t columns = 1 << 20; columns >= 64; columns /= 2) {
    std::size_t boxes = 0;
    rows = RowJson::array();
    for (const StageRow& row : found->rows) {
      ScheduleRow drawn(row, found->begin, span / columns);
      boxes += drawn.size();
      rows.push_back({{"stage", row.stage}, {"slices", std::move(drawn.slices)}, {"stacks", std::move(drawn.stacks)}});
    }
    if (boxes <= most) break;
  }
  return json_text(RowJson{{"begin", 0},
                           {"end", span},
                           {"idle", found->idle},
                           {"stages", order.of_stage.size()},
                           {"chunks", order.chunks},
                           {"micro_batches", order.micro_batches},
                           {"in_iteration", order.in_iteration},
                           {"works", {"forward", "recompute", "backward", "weights", "communication", "optimizer"}},
                           {"rows", std::move(rows)}});
}

}  // namespace distsim::report
