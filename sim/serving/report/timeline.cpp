#include <fmt/format.h>

#include <algorithm>

#include "base/text/quantity_text.hpp"
#include "sim/serving/report/comparison.hpp"
#include "traces/timeline/timeline_writer.hpp"

namespace distsim::serving {
namespace {

constexpr std::size_t kMostPieces = 500'000;

struct Piece {
  std::uint32_t gpu = 0, model = 0, begin_layer = 0, end_layer = 0, batch = 0;
  std::int64_t start_ps = 0, end_ps = 0, assigned_ps = 0;
  std::uint32_t track = 0;
};

/// Keeps the pieces of work of one run, the first kMostPieces.
class Recorder : public Observer {
 public:
  explicit Recorder(std::vector<Piece>& pieces) : pieces_(pieces) {}
  void executed(const Executed& e) override {
    if (pieces_.size() == kMostPieces) {
      is_cut = true;
      return;
    }
    pieces_.push_back({e.gpu, e.model, e.begin_layer, e.end_layer, static_cast<std::uint32_t>(e.requests->size()),
                       e.start_ps, e.end_ps, e.assigned_ps});
  }
  bool is_cut = false;

 private:
  std::vector<Piece>& pieces_;
};

/// Puts pieces that overlap, on a shared GPU, on tracks of their own.
void lay_out(const Experiment& e, std::uint32_t process, std::vector<Piece>& pieces, traces::SliceSource& source) {
  std::ranges::stable_sort(pieces, [](const Piece& a, const Piece& b) {
    return a.gpu != b.gpu ? a.gpu < b.gpu : a.start_ps != b.start_ps ? a.start_ps < b.start_ps : a.end_ps < b.end_ps;
  });
  std::vector<std::int64_t> ends;  // of the tracks of one GPU
  std::uint32_t gpu = kHost, first = 0, thread = 0;
  for (Piece& p : pieces) {
    if (p.gpu != gpu) {
      ends.clear();
      gpu = p.gpu;
      first = static_cast<std::uint32_t>(source.tracks.size());
    }
    const auto lane = static_cast<std::size_t>(
        std::ranges::find_if(ends, [&](std::int64_t end) { return end <= p.start_ps; }) - ends.begin());
    if (lane == ends.size()) {
      ends.push_back(0);
      const std::string& name = e.scenario.gpus[gpu].name;
      source.tracks.push_back({process, thread++, e.policies[process]->name,
                               lane == 0 ? name : name + " (" + std::to_string(lane + 1) + ")"});
    }
    ends[lane] = p.end_ps;
    p.track = first + static_cast<std::uint32_t>(lane);
  }
}

traces::Slice slice_of(const Experiment& e, const Piece& p) {
  traces::Slice slice;
  slice.track = p.track;
  slice.name = e.scenario.models[p.model].name;
  slice.category = "execution";
  slice.start_ps = p.start_ps;
  slice.duration_ps = p.end_ps - p.start_ps;
  slice.args = {{"layers", fmt::format("{} to {}", p.begin_layer, p.end_layer - 1)},
                {"batch", std::to_string(p.batch)},
                {"assigned_ms", fmt::format("{:.6f}", static_cast<double>(p.assigned_ps) * 1e-9)}};
  return slice;
}

}  // namespace

Result<std::vector<std::string>> write_timeline(const Comparison& c, const std::string& path, FilesTogether& files) {
  const Experiment& e = *c.experiment;
  std::vector<std::vector<Piece>> pieces(e.policies.size());
  traces::SliceSource source;
  std::vector<std::string> notes;
  for (std::uint32_t i = 0; i < e.policies.size(); ++i) {
    if (!c.points[i].error.empty()) continue;
    Recorder recorder(pieces[i]);
    TRY(emulate(e.scenario, *e.policies[i], e.policy_options, load_at(e, c.points[i].rate_per_s), e.run, &recorder));
    if (recorder.is_cut)
      notes.push_back(fmt::format(
          "--timeline: the first {} pieces of work of {} are in it, up to {}", kMostPieces, e.policies[i]->name,
          format_quantity(static_cast<double>(pieces[i].back().end_ps) * 1e-12, Dimension::seconds)));
    lay_out(e, i, pieces[i], source);
  }
  source.for_each = [&](const std::function<void(const traces::Slice&)>& sink) {
    for (const auto& run : pieces) {
      for (const Piece& p : run) sink(slice_of(e, p));
    }
  };
  TRY(traces::write_timeline(source, path, files));
  return notes;
}

}  // namespace distsim::serving
