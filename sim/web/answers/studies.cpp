// Answers that take many predictions: what would help most, sweeps.
#include <algorithm>
#include <chrono>

#include "base/text/printable.hpp"
#include "base/threads/stop.hpp"
#include "sim/study/sensitivity/sensitivity.hpp"
#include "sim/study/sweep/sweep.hpp"
#include "sim/web/answers/answers.hpp"
#include "sim/web/messages/body.hpp"

namespace distsim::web {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostSwept = 5'000;  ///< points
constexpr std::size_t kMostAxes = 4;
constexpr auto kTellEvery = std::chrono::milliseconds(100);

Result<std::vector<study::SweepAxis>> axes_in(const Json& body) {
  std::vector<study::SweepAxis> out;
  const auto it = body.find("axes");
  if (it == body.end() || !it->is_array() || it->empty() || it->size() > kMostAxes)
    return unexpected("axes", "one to four keys, each with its values as KEY=V1,V2,...");
  double points = 1;
  for (const Json& text : *it) {
    if (!text.is_string()) return unexpected("axes", "keys with their values as KEY=V1,V2,...");
    TRY_ASSIGN(const double values, study::count_values(text.get<std::string>(), "sweep of"));
    points *= values;
    if (!(points <= static_cast<double>(kMostSwept)))
      return Error{"axes: found more than " + std::to_string(kMostSwept) + " points, expected fewer values", "message",
                   "the command `distsim sweep` takes up to ten million"};
    TRY_ASSIGN(study::SweepAxis axis, study::parse_axis(text.get<std::string>(), "sweep of"));
    out.push_back(std::move(axis));
  }
  if (const std::string twice = study::key_given_twice(out); !twice.empty())
    return Error{"axes: found " + in_quotes(twice, 100) + " twice, expected each key once", "message", ""};
  return out;
}

Json point_json(const study::SweepRequest& request, std::size_t index, const study::Row& row) {
  Json out{{"index", index}, {"values", study::values_at(request.axes, index)}};
  if (!row.error.empty()) out["error"] = row.error;
  if (row.figures.empty()) return out;
  const study::SweepFigures f = study::figures_in(row);
  out["gpus"] = number(f.gpus);
  if (f.memory_gb > 0) out["memory_gb"] = number(f.memory_gb);
  if (f.fits != study::Fits::unknown) out["fits"] = f.fits == study::Fits::yes;
  if (!row.error.empty()) return out;
  out["iteration_ms"] = number(f.iteration_ms);
  out["low_ms"] = number(f.low_ms);
  out["high_ms"] = number(f.high_ms);
  out["samples_per_s"] = number(f.samples_per_s);
  out["exposed_comm_ms"] = number(f.exposed_comm_ms);
  out["mfu"] = number(f.mfu);
  out["limited_by"] = f.limited_by;
  return out;
}

/// What was asked of the sweep as a whole and changes nothing, as the command says it.
Json notes_on(const study::SweepRequest& request) {
  Json out = Json::array();
  if (request.scaling != study::Scaling::as_given && std::ranges::none_of(request.axes, study::counts_gpus))
    out.push_back(std::string("weak: no effect, ") + study::kNoGpusSwept);
  return out;
}

}  // namespace

Result<std::string> Answers::sensitivity(const Message& m, const Meanwhile& meanwhile) {
  TRY_ASSIGN(const std::string text, asked_text(m.body));
  TRY_ASSIGN(const ConfigNode parsed, predictions_.parse(text));
  TRY_ASSIGN(const config::Experiment experiment, predictions_.resolve(parsed));
  std::size_t done = 0;
  const auto tell = [&] {
    meanwhile.tell(
        dumped({{"id", m.id}, {"type", "progress"}, {"done", ++done}, {"total", study::resources().size()}}));
  };
  TRY_ASSIGN(const study::Sensitivity found, study::sensitivity(experiment, {}, tell));
  if (*meanwhile.is_cancelled) return plain_answer(m.id, "cancelled");
  return "{\"id\":" + std::to_string(m.id) + ",\"type\":\"sensitivity\",\"result\":" + study::sensitivity_json(found) +
         "}";
}

/// A swept key may name a file, or ask for more GPUs than a page may.
study::Row Answers::evaluated(const study::SweepRequest& request, const study::PointList& points, std::size_t index) {
  const auto parsed = request.experiment->parsed(study::sets_at(request, index));
  const Result<void> checked = parsed.ok() ? predictions_.check(*parsed) : Result<void>(parsed.error());
  return checked.ok() ? points.evaluate(index) : study::Row{{}, {}, checked.error().text()};
}

Result<std::string> Answers::sweep(const Message& m, const Meanwhile& meanwhile) {
  TRY_ASSIGN(const std::string text, asked_text(m.body));
  TRY(predictions_.parse(text));
  study::SweepRequest request;
  TRY_ASSIGN(request.experiment, config::Variants::of_text(text, predictions_.file()));
  TRY_ASSIGN(request.axes, axes_in(m.body));
  if (flag_in(m.body, "weak")) request.scaling = study::Scaling::weak;
  TRY_ASSIGN(const study::PointList points, study::sweep_points(request, false));
  Json fresh = Json::array();
  Clock::time_point told = Clock::now();
  std::size_t done = 0;
  const auto line = [&](const char* type, const Json& notes = Json::array()) {
    Json out{{"id", m.id}, {"type", type}, {"done", done}, {"total", points.count}, {"points", std::move(fresh)}};
    if (!notes.empty()) out["notes"] = notes;
    fresh = Json::array();
    return dumped(out);
  };
  for (const std::size_t index : study::sweep_order(request)) {
    if (*meanwhile.is_cancelled) return line("cancelled");
    try {
      fresh.push_back(point_json(request, index, evaluated(request, points, index)));
    } catch (const Stopped&) {
      return line("cancelled");
    }
    ++done;
    if (Clock::now() - told < kTellEvery) continue;
    told = Clock::now();
    meanwhile.tell(line("progress"));
  }
  return line("sweep", notes_on(request));
}

}  // namespace distsim::web
