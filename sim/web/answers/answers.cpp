#include "sim/web/answers/answers.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "base/json/parse_once.hpp"
#include "base/log.hpp"
#include "base/system/memory.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "base/threads/stop.hpp"
#include "sim/pipeline/contention/link_loads.hpp"
#include "sim/pipeline/folds.hpp"
#include "sim/report/picture/stage_rows.hpp"
#include "sim/report/text/json_form.hpp"
#include "sim/study/idle/without_effect.hpp"
#include "sim/web/answers/vocabulary.hpp"
#include "sim/web/answers/yaml_edit.hpp"
#include "sim/web/messages/body.hpp"

namespace distsim::web {
namespace {

using Json = nlohmann::json;

struct TypeWord {
  std::string_view word;
  MessageType type;
  std::string_view members;  ///< besides id and type
};
constexpr std::array kTypes{
    TypeWord{"schema", MessageType::schema, ""},
    TypeWord{"lists", MessageType::lists, ""},
    TypeWord{"predict", MessageType::predict, "text edits values"},
    TypeWord{"effects", MessageType::effects, "text edits"},
    TypeWord{"timeline", MessageType::timeline, "text edits from to columns first count names"},
    TypeWord{"pictures", MessageType::pictures, "text edits"},
    TypeWord{"sensitivity", MessageType::sensitivity, "text edits"},
    TypeWord{"sweep", MessageType::sweep, "text edits axes weak"},
    TypeWord{"file", MessageType::file, "text edits kind"},
    TypeWord{"cancel", MessageType::cancel, "of"},
    TypeWord{"plan", MessageType::plan, "text edits objective gpus vary top most_played price"},
    TypeWord{"collective", MessageType::collective, "system text edits kind nodes gpus_per_node from to at"},
    TypeWord{"op", MessageType::op, "gpu text edits op dtype pass sizes vary from to"},
    TypeWord{"ops", MessageType::ops, ""},
    TypeWord{"cases", MessageType::cases, ""},
    TypeWord{"case", MessageType::one_case, "case"},
    TypeWord{"traces", MessageType::traces, ""},
    TypeWord{"trace", MessageType::trace, "files steps"},
    TypeWord{"replay", MessageType::replay, "files steps remove fuse text edits sets measured_on ranks timeline"}};

/// Members that are true or false, of any message.
constexpr std::string_view kFlags[] = {"values", "names", "weak", "timeline"};

/// Members that are whole numbers, of any message.
constexpr std::string_view kWholeNumbers[] = {"from", "to", "columns", "first", "count", "of"};

std::vector<std::string> members_of(const TypeWord& type) {
  std::vector<std::string> out{"id", "type"};
  for (std::string_view rest = type.members; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

/// A member that is misspelt would change the answer by its absence.
Result<void> check_members(const Json& body, const TypeWord& type) {
  const std::vector<std::string> members = members_of(type);
  for (const auto& [name, value] : body.items()) {
    if (std::ranges::find(members, name) == members.end())
      return Error{"found an unknown member " + in_quotes(name) + ", expected those of " + std::string(type.word),
                   "message", spelling_hint(name, members)};
    if (std::ranges::find(kFlags, name) != std::end(kFlags) && !value.is_boolean() && !value.is_null())
      return unexpected(name, "true or false");
    if (std::ranges::find(kWholeNumbers, name) != std::end(kWholeNumbers) && !value.is_number_integer() &&
        !value.is_null())
      return unexpected(name, "a whole number");
  }
  if (type.type == MessageType::cancel && integer_in(body, "of") == 0)
    return unexpected("of", "the id of the message that is cancelled");
  // Of two that say what is asked about, one would be dropped.
  for (const char* named : {"system", "gpu"}) {
    if (body.contains(named) && (body.contains("text") || body.contains("edits")))
      return unexpected(named, "either it or text with its edits, not both");
  }
  return {};
}

/// With more ranks their times are not sent with every answer.
constexpr std::size_t kMostRankTimes = 256;
/// Of the critical path, in order of time: some 20 MB. Jobs of very many micro-batches have more.
constexpr std::size_t kMostPathSteps = 100'000;
constexpr std::size_t kMostText = 256 << 10;  ///< bytes of an experiment
constexpr std::size_t kMostEdits = 64;
constexpr int kMostColumns = 8192;  ///< of a timeline

Result<std::vector<Edit>> edits_in(const Json& body) {
  std::vector<Edit> out;
  const auto it = body.find("edits");
  if (it == body.end()) return out;
  if (!it->is_array() || it->size() > kMostEdits) return unexpected("edits", "a list of at most 64 edits");
  for (const Json& e : *it) {
    const bool valid = e.is_object() && e.size() == 2 && e.contains("key") && e["key"].is_string() &&
                       e.contains("value") && (e["value"].is_string() || e["value"].is_null());
    if (!valid) return unexpected("edits", "objects with key and value, a text or null, and no other member");
    Edit edit{e["key"].get<std::string>(), {}};
    if (e["value"].is_string()) edit.value = e["value"].get<std::string>();
    out.push_back(std::move(edit));
  }
  return out;
}

/// Line and column of an error in the experiment's own text: "x.yaml:12:5" of the file "x.yaml".
void add_place(Json& error, const std::string& where, const std::string& file) {
  if (file.empty() || !where.starts_with(file + ":")) return;
  const std::string rest = where.substr(file.size() + 1);
  const std::size_t colon = rest.find(':');
  const auto digits = [](std::string_view text) {
    return !text.empty() && text.size() < 9 && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (!digits(std::string_view(rest).substr(0, colon))) return;
  error["line"] = std::stoi(rest.substr(0, colon));
  if (colon != std::string::npos && digits(std::string_view(rest).substr(colon + 1)))
    error["column"] = std::stoi(rest.substr(colon + 1));
}

/// A member that is JSON already; without a name it is an object, whose members are added.
struct Part {
  std::string_view name;
  const std::string& text;
};

/// {"id":1,"type":"prediction",...,"report":{...}}.
std::string with_parts(const Json& head, std::initializer_list<Part> parts) {
  std::string out = dumped(head);
  out.pop_back();
  for (const Part& part : parts) {
    out += part.name.empty() ? "," + part.text.substr(1, part.text.size() - 2)
                             : ",\"" + std::string(part.name) + "\":" + part.text;
  }
  return out + "}";
}

KeptReport report_of(const Shown& shown) {
  const report::Report& report = shown.prediction.report;
  return {shown.text, std::to_string(report.iteration.ps()),
          report::to_json(report, {.indent = -1, .most_ranks = kMostRankTimes, .most_steps = kMostPathSteps})};
}

/// Larger ones would come back as others.
bool is_id(const Json& value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max());
}

}  // namespace

Result<Message> read_message(const std::string& text) {
  std::string twice;
  Json body = parse_once(text, twice);
  if (!body.is_object()) return Error{"found no JSON object", "message", ""};
  if (!twice.empty()) return Error{"found the member " + in_quotes(twice) + " twice, expected it once", "message", ""};
  const auto id = body.find("id");
  if (id == body.end() || !is_id(*id)) return unexpected("id", "a whole number below 2^63");
  TRY_ASSIGN(const std::string word, string_in(body, "type"));
  std::vector<std::string> words;
  Message out{id->get<std::int64_t>(), MessageType::predict, {}};
  for (const TypeWord& t : kTypes) {
    words.emplace_back(t.word);
    if (t.word != word) continue;
    out.type = t.type;
    TRY(check_members(body, t));
    out.body = std::move(body);
    return out;
  }
  return Error{"type: found an unknown type of message", "message", spelling_hint(word, words)};
}

std::int64_t id_in(const std::string& text) {
  const Json body = Json::parse(text, nullptr, false);
  if (!body.is_object()) return -1;
  const auto id = body.find("id");
  return id != body.end() && is_id(*id) ? id->get<std::int64_t>() : -1;
}

std::string error_answer(std::int64_t id, const Error& error, const std::string& file) {
  Json e{{"text", error.text()},
         {"what", message_line(error.what)},
         {"where", message_line(error.where)},
         {"hint", message_line(error.hint)}};
  add_place(e, error.where, file);
  return dumped({{"id", id}, {"type", "error"}, {"error", std::move(e)}});
}

std::string plain_answer(std::int64_t id, const char* type) { return dumped({{"id", id}, {"type", type}}); }

Answers::Answers(std::string experiment_file, std::string text, std::vector<std::string> traces)
    : predictions_(std::move(experiment_file)), first_text_(std::move(text)), given_traces_(std::move(traces)) {
  lists_ = std::async(std::launch::async, [] {
             const LogSilence silence;
             return dumped(lists_json());
           }).share();
}

Answers::~Answers() = default;

std::string Answers::to(const Message& message, const Meanwhile& meanwhile) {
  const LogSilence silence;
  files_.tidy();
  try {
    const StopScope scope(*meanwhile.is_cancelled);
    const Result<std::string> out = answer(message, meanwhile);
    if (message.type != MessageType::sweep) end_if_stopped();  // which says itself how far it came
    return out.ok() ? *out : error_answer(message.id, out.error(), predictions_.file());
  } catch (const Stopped&) {
    return plain_answer(message.id, "cancelled");
  } catch (const std::bad_alloc&) {
    return error_answer(message.id, Error{std::string(kMemoryRanOut) + "; use fewer nodes or micro-batches", "", ""});
  } catch (const std::exception& e) {
    return error_answer(message.id, Error{std::string("internal error: ") + e.what(), "", ""});
  }
}

Result<std::string> Answers::answer(const Message& message, const Meanwhile& meanwhile) {
  switch (message.type) {
    case MessageType::schema:
      return schema(message);
    case MessageType::lists:
      return lists(message);
    case MessageType::predict:
      return predict(message);
    case MessageType::effects:
      return effects(message);
    case MessageType::timeline:
      return timeline(message);
    case MessageType::pictures:
      return pictures(message);
    case MessageType::sensitivity:
      return sensitivity(message, meanwhile);
    case MessageType::sweep:
      return sweep(message, meanwhile);
    case MessageType::file:
      return file(message);
    case MessageType::plan:
      return plan(message, meanwhile);
    case MessageType::collective:
      return collective(message);
    case MessageType::op:
      return op(message);
    case MessageType::ops:
      return ops(message);
    case MessageType::cases:
      return cases(message, meanwhile);
    case MessageType::one_case:
      return one_case(message);
    case MessageType::traces:
      return trace_list(message);
    case MessageType::trace:
      return trace_profile(message, meanwhile);
    case MessageType::replay:
      return trace_replay(message, meanwhile);
    case MessageType::cancel:
      break;  // the connection's own
  }
  return plain_answer(message.id, "cancelled");
}

/// The message's `text` with its `edits` made.
Result<std::string> Answers::asked_text(const Json& body) const {
  TRY_ASSIGN(std::string text, string_in(body, "text"));
  if (text.size() > kMostText) return unexpected("text", "at most 256 KiB");
  TRY_ASSIGN(const std::vector<Edit> edits, edits_in(body));
  return edited(std::move(text), predictions_.file(), edits);
}

Result<std::string> Answers::schema(const Message& m) {
  static const Json vocabulary = vocabulary_json();
  Json out = vocabulary;
  out["id"] = m.id;
  out["type"] = "schema";
  out["file"] = predictions_.file();
  out["text"] = first_text_;
  return dumped(out);
}

Result<std::string> Answers::lists(const Message& m) {
  std::string out = lists_.get();
  out.pop_back();
  return out + ",\"id\":" + std::to_string(m.id) + ",\"type\":\"lists\"}";
}

Result<std::string> Answers::predict(const Message& m) {
  TRY_ASSIGN(const std::string text, asked_text(m.body));
  Json head{{"id", m.id}, {"type", "prediction"}, {"text", text}};
  const bool wants_values = flag_in(m.body, "values");
  if (predictions_.is_renewed()) reports_.clear();
  if (const auto kept = wants_values ? nullptr : reports_.find(text)) {
    head["iteration_ps"] = kept->iteration_ps;
    return with_parts(head, {{"report", kept->report}});
  }
  const auto shown = predictions_.of(text);
  if (!shown.ok()) {  // the edited text belongs to the error: its lines are those of the text
    Json out = Json::parse(error_answer(m.id, shown.error(), predictions_.file()));
    out["text"] = text;
    if (const Result<ConfigNode> parsed = predictions_.parse(text); parsed.ok()) out["given"] = values_json(*parsed);
    return dumped(out);
  }
  if (wants_values) head["values"] = values_json((*shown)->experiment.merged);
  KeptReport report = report_of(**shown);
  head["iteration_ps"] = report.iteration_ps;
  std::string out = with_parts(head, {{"report", report.report}});
  reports_.keep(std::move(report));
  return out;
}

/// Keys that were given and change nothing.
Result<std::string> Answers::effects(const Message& m) {
  TRY_ASSIGN(const std::string text, asked_text(m.body));
  TRY_ASSIGN(const auto shown, predictions_.of(text));
  const auto models = predictions_.models();
  Json idle = Json::array();
  for (const study::GivenKey& key :
       study::keys_without_effect(shown->parsed, shown->experiment, shown->prediction.report, false, 1, *models))
    idle.push_back({{"key", key.key}, {"where", key.where}});
  return dumped({{"id", m.id}, {"type", "effects"}, {"without_effect", std::move(idle)}});
}

Result<std::string> Answers::timeline(const Message& m) {
  TRY_ASSIGN(const std::string text, asked_text(m.body));
  TRY_ASSIGN(const auto shown, predictions_.of(text));
  report::TimelineWindow window{integer_in(m.body, "from"), integer_in(m.body, "to")};
  window.columns = static_cast<int>(std::clamp<std::int64_t>(integer_in(m.body, "columns"), 64, kMostColumns));
  window.first = static_cast<std::size_t>(std::max<std::int64_t>(0, integer_in(m.body, "first")));
  window.count = static_cast<std::size_t>(std::clamp<std::int64_t>(integer_in(m.body, "count"), 1, 64));
  window.names = flag_in(m.body, "names");
  return with_parts({{"id", m.id}, {"type", "timeline"}}, {{"", report::timeline_json(*shown->timeline(), window)}});
}

/// What the network carries, and what the stages of a pipeline do.
Result<std::string> Answers::pictures(const Message& m) {
  TRY_ASSIGN(const std::string text, asked_text(m.body));
  TRY_ASSIGN(const auto shown, predictions_.of(text));
  TRY_ASSIGN(const pipeline::LinkLoads loads, pipeline::link_loads(shown->experiment, shown->prediction.report));
  TRY_ASSIGN(const auto order,
             pipeline::played_pipeline(shown->experiment, pipeline::kPlayedMicroSteps, shown->prediction.stretch));
  const std::string schedule = order ? report::schedule_json(shown->prediction.played(), *order) : "";
  return with_parts({{"id", m.id}, {"type", "pictures"}},
                    {{"links", pipeline::link_loads_json(loads)}, {"schedule", schedule.empty() ? "null" : schedule}});
}

}  // namespace distsim::web
