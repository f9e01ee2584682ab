// Answers to the messages of a page (docs/serve.md). Every message is one JSON object with an id and a type, and has one last
// answer with that id; studies say how far they are before it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "base/json/json.hpp"
#include "base/result.hpp"
#include "sim/study/plan/plan.hpp"
#include "sim/study/sweep/sweep.hpp"
#include "sim/web/answers/kept_files.hpp"
#include "sim/web/answers/kept_reports.hpp"
#include "sim/web/answers/predictions.hpp"
#include "sim/web/files/private_folder.hpp"
#include "sim/web/files/uploads.hpp"
#include "sim/web/traces/kept_jobs.hpp"

namespace distsim::web {

enum class MessageType : std::uint8_t {
  schema,
  lists,
  predict,
  effects,
  timeline,
  pictures,
  sensitivity,
  sweep,
  file,
  cancel,
  plan,
  collective,
  op,
  ops,
  cases,
  one_case,
  traces,
  trace,
  replay
};

struct Message {
  std::int64_t id = 0;
  MessageType type = MessageType::predict;
  nlohmann::json body;
  /// Takes seconds, and tells how far it is: not on the threads that a slider waits for.
  bool is_study() const {
    return type == MessageType::sensitivity || type == MessageType::sweep || type == MessageType::plan ||
           type == MessageType::cases || type == MessageType::trace || type == MessageType::replay;
  }
};

/// Errors: no JSON, no object, no id, a type that there is not.
Result<Message> read_message(const std::string& text);
/// The id of a message that cannot be read otherwise; -1 where it has none.
std::int64_t id_in(const std::string& text);

/// What a long answer may ask and say meanwhile.
struct Meanwhile {
  std::shared_ptr<const std::atomic<bool>> is_cancelled;  ///< never null
  std::function<void(std::string)> tell;
};

/// {"id", "type": "error", "error": {"text", "what", "where", "hint", "line", "column"}}. Line and column where the error is in
/// the experiment's own text.
std::string error_answer(std::int64_t id, const Error& error, const std::string& file = "");
/// {"id", "type"}: stale, cancelled, busy, timeout.
std::string plain_answer(std::int64_t id, const char* type);

/// May be used by several threads.
class Answers {
 public:
  /// `text`: the experiment that a page begins with. `traces`: files, folders or patterns of a job, which a page may look at.
  Answers(std::string experiment_file, std::string text, std::vector<std::string> traces = {});
  ~Answers();

  /// One last answer. Never throws.
  std::string to(const Message& message, const Meanwhile& meanwhile);

  KeptFiles& files() { return files_; }
  PrivateFolder& private_folder() { return private_folder_; }
  Uploads& uploads() { return uploads_; }
  const std::string& experiment_file() const { return predictions_.file(); }

 private:
  Result<std::string> answer(const Message& message, const Meanwhile& meanwhile);
  Result<std::string> asked_text(const nlohmann::json& body) const;
  Result<std::string> schema(const Message& m);
  Result<std::string> lists(const Message& m);
  Result<std::string> predict(const Message& m);
  Result<std::string> effects(const Message& m);
  Result<std::string> timeline(const Message& m);
  Result<std::string> pictures(const Message& m);
  Result<std::string> sensitivity(const Message& m, const Meanwhile& meanwhile);
  Result<std::string> sweep(const Message& m, const Meanwhile& meanwhile);
  Result<std::string> file(const Message& m);
  // sim/web/explore
  Result<std::string> plan(const Message& m, const Meanwhile& meanwhile);
  Result<std::string> collective(const Message& m);
  Result<std::string> op(const Message& m);
  Result<std::string> ops(const Message& m);
  Result<std::string> cases(const Message& m, const Meanwhile& meanwhile);
  Result<std::string> one_case(const Message& m);
  // sim/web/traces
  Result<std::string> trace_list(const Message& m);
  Result<std::string> trace_profile(const Message& m, const Meanwhile& meanwhile);
  Result<std::string> trace_replay(const Message& m, const Meanwhile& meanwhile);
  Result<void> check_plan(const study::PlanRequest& request);
  Result<std::shared_ptr<const traces::TraceJob>> job_of(const std::vector<std::string>& paths,
                                                         const std::string& steps);
  Result<std::vector<std::string>> asked_traces(const nlohmann::json& body) const;
  Result<void> name_placements(study::Plan& plan);
  study::Row evaluated(const study::SweepRequest& request, const study::PointList& points, std::size_t index);

  Predictions predictions_;
  const std::string first_text_;
  KeptFiles files_;
  KeptReports reports_;
  PrivateFolder private_folder_;
  Uploads uploads_{private_folder_};
  const std::vector<std::string> given_traces_;  ///< on the command line
  KeptJobs jobs_;
  std::atomic<std::uint64_t> placements_{0};  ///< files in it
  std::shared_future<std::string> lists_;     ///< begun when the server starts
};

}  // namespace distsim::web
