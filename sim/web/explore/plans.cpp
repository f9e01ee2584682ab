// Plans: the best ways to run an experiment, as `distsim plan` finds them, with every one that is played told on the way.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/file.hpp"
#include "base/text/printable.hpp"
#include "base/threads/stop.hpp"
#include "sim/study/plan/plan.hpp"
#include "sim/study/plan/plan_sites.hpp"
#include "sim/web/answers/answers.hpp"
#include "sim/web/messages/body.hpp"

namespace distsim::web {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostVaried = 8;           ///< keys
constexpr double kMostPlanCombinations = 1'000;  ///< of keys besides the layout; each is a search of its own
constexpr std::int64_t kMostPlayed = 20'000, kMostRows = 200;
constexpr auto kTellPlanEvery = std::chrono::milliseconds(100);

Result<study::Objective> objective_in(const std::string& word) {
  using study::Objective;
  for (const Objective o : {Objective::time, Objective::cost, Objective::energy, Objective::memory}) {
    if (study::name_of(o) == word) return o;
  }
  return unexpected("objective", "time, cost, energy or memory, or two of them");
}

/// "time", "time,memory": one, or a front of two.
Result<study::Goal> goal_in(const Json& body) {
  study::Goal goal;
  TRY_ASSIGN(const std::string text, optional_string_in(body, "objective"));
  if (text.empty()) return goal;
  const std::size_t comma = text.find(',');
  TRY_ASSIGN(goal.objective, objective_in(text.substr(0, comma)));
  if (comma == std::string::npos) return goal;
  TRY_ASSIGN(goal.second, objective_in(text.substr(comma + 1)));
  if (goal.objective == *goal.second) return unexpected("objective", "two different objectives");
  return goal;
}

Result<study::PlanRequest> plan_request_in(const Json& body) {
  study::PlanRequest out;
  TRY_ASSIGN(out.goal, goal_in(body));
  TRY_ASSIGN(const std::vector<std::string> varied, strings_in(body, "vary", kMostVaried));
  for (const std::string& text : varied) {
    TRY_ASSIGN(study::SweepAxis axis, study::parse_axis(text, "vary", kMostPlayed));
    for (const study::SweepAxis& other : out.varied) {
      if (other.key == axis.key) return unexpected("vary", "each key once, found " + in_quotes(axis.key) + " twice");
    }
    out.varied.push_back(std::move(axis));
  }
  TRY_ASSIGN(const std::string gpus, optional_string_in(body, "gpus"));
  if (!gpus.empty()) {
    TRY_ASSIGN(out.gpus, study::parse_gpus(gpus));
  }
  TRY_ASSIGN(const std::int64_t top, integer_within(body, "top", 1, kMostRows, 10));
  TRY_ASSIGN(const std::int64_t played, integer_within(body, "most_played", 1, kMostPlayed, kMostPlayed));
  out.top = static_cast<std::size_t>(top);
  out.most_played = static_cast<std::uint64_t>(played);
  TRY_ASSIGN(out.purchase.price_per_gpu_hour, amount_in(body, "price"));
  return out;
}

Json played_json(const study::PlayedPoint& p) {
  return {{"set", p.sets},
          {"iteration_ms", p.iteration.ms()},
          {"memory_gb", p.memory * 1e-9},
          {"value", number(p.value)},
          {"second", number(p.second)}};
}

/// What is played, in messages that are not too many.
class PlanTeller {
 public:
  PlanTeller(std::int64_t id, const Meanwhile& meanwhile) : id_(id), meanwhile_(meanwhile) {}

  void take(const study::PlanProgress& progress) {
    for (const study::PlayedPoint& p : progress.points) points_.push_back(played_json(p));
    considered_ = progress.considered;
    played_ = progress.played;
    if (std::chrono::steady_clock::now() - told_ < kTellPlanEvery) return;
    tell();
  }
  /// What has not been told yet.
  void tell() {
    told_ = std::chrono::steady_clock::now();
    Json line{{"id", id_},
              {"type", "progress"},
              {"considered", considered_},
              {"done", played_},
              {"points", std::move(points_)}};
    points_ = Json::array();
    meanwhile_.tell(dumped(line));
  }

 private:
  const std::int64_t id_;
  const Meanwhile& meanwhile_;
  Json points_ = Json::array();
  double considered_ = 0, played_ = 0;
  std::chrono::steady_clock::time_point told_{};
};

}  // namespace

/// Keys that are varied may name files, or ask for more GPUs than a page may.
Result<void> Answers::check_plan(const study::PlanRequest& request) {
  for (const std::int64_t gpus : request.gpus) {
    if (gpus > kMostGpus)
      return unexpected("gpus", "at most " + std::to_string(kMostGpus) + ", found " + std::to_string(gpus));
  }
  std::vector<study::SweepAxis> axes = request.varied;
  std::erase_if(axes, [](const study::SweepAxis& a) {
    return a.key.starts_with("parallel.") && a.key != "parallel.placement_file";
  });
  const double count =
      study::combinations_of(axes) * static_cast<double>(std::max<std::size_t>(1, request.gpus.size()));
  if (count > kMostPlanCombinations)
    return unexpected("vary", "at most 1000 combinations of keys besides the layout and of numbers of GPUs");
  for (double i = 0; i < study::combinations_of(axes); ++i) {
    const auto parsed = request.experiment->parsed(study::sets_of_combination(axes, i));
    if (!parsed.ok()) return parsed.error();
    TRY(predictions_.check(*parsed));
  }
  return {};
}

/// Rows of a recommender whose tables lie elsewhere: their placement becomes a file that the row's experiment names.
Result<void> Answers::name_placements(study::Plan& plan) {
  if (!plan.tables) return {};
  for (study::PlanRow& row : plan.rows) {
    const workload::TablePlans& placement = plan.tables->played[row.number].placement;
    if (placement.tables.empty()) continue;
    TRY_ASSIGN(const std::string folder, private_folder_.path());
    predictions_.open_folder(folder);
    const std::string path = folder + "/placement-" + std::to_string(++placements_) + ".csv";
    TRY(write_file_atomically(path, study::placement_csv(placement)));
    row.sets.push_back("parallel.placement_file=" + path);
  }
  return {};
}

Result<std::string> Answers::plan(const Message& m, const Meanwhile& meanwhile) {
  TRY_ASSIGN(const std::string text, asked_text(m.body));
  TRY_ASSIGN(const ConfigNode parsed, predictions_.parse(text));
  TRY(predictions_.resolve(parsed));
  TRY_ASSIGN(study::PlanRequest request, plan_request_in(m.body));
  request.config = predictions_.file();
  TRY_ASSIGN(request.experiment, config::Variants::of_text(text, predictions_.file()));
  TRY(check_plan(request));
  PlanTeller teller(m.id, meanwhile);
  request.on_progress = [&](const study::PlanProgress& progress) { teller.take(progress); };
  const auto searched = [&] {
    try {
      return study::plan_experiment(request, [] {});
    } catch (const Stopped&) {
      teller.tell();  // a page keeps what was played before it cancelled
      throw;
    }
  };
  Result<study::Plan> result = searched();
  teller.tell();
  TRY_ASSIGN(study::Plan found, std::move(result));
  TRY(name_placements(found));
  Json head{{"id", m.id}, {"type", "plan"}, {"text", text}, {"summary", study::plan_summary(found)}};
  Json keys = Json::array();
  for (const std::size_t k : study::shown_keys(found)) keys.push_back(found.keys[k]);
  head["keys"] = std::move(keys);
  if (found.tables && !found.tables->placement.tables.empty())
    head["placement"] = "/file/" +
                        files_.keep("placement.csv", "text/csv; charset=utf-8", study::placement_csv(*found.tables)) +
                        "/placement.csv";
  std::string out = dumped(head);
  out.pop_back();
  return out + ",\"result\":" + study::plan_json(found) + "}";
}

}  // namespace distsim::web
