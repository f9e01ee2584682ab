#include "traces/kineto/kineto_survey.hpp"

#include <algorithm>
#include <optional>

#include "base/text/names/name_pattern.hpp"
#include "traces/build/rank_builder.hpp"
#include "traces/files/json_stream.hpp"
#include "traces/kineto/kineto_metadata.hpp"
#include "traces/kineto/kineto_pairs.hpp"
#include "traces/kineto/kineto_parse.hpp"
#include "traces/kineto/kineto_roles.hpp"
#include "traces/trace_steps.hpp"

namespace distsim::traces {
namespace {

constexpr std::size_t kMostSteps = 1'000'000;

bool launches(RuntimeCall call) {
  return call == RuntimeCall::launch_kernel || call == RuntimeCall::launch_graph || call == RuntimeCall::memcpy ||
         call == RuntimeCall::memset;
}

class Surveyor : public JsonHandler {
 public:
  Surveyor(const TraceOptions& options, const NamePattern* pattern) : options_(options), pattern_(pattern) {}

  Want on_key(std::string_view key) override {
    if (key == "traceEvents" || key.empty()) return Want::elements;
    return key == "baseTimeNanoseconds" ? Want::value : Want::skip;
  }
  Result<void> on_value(std::string_view, std::string_view json) override {
    out.base_ns = base_time(json).value_or(0);
    return {};
  }
  Result<void> on_elements(JsonBatch& batch) override {
    parser_.parse(batch, [this](const KinetoEvent& e) { event(e); });
    if (out.steps.size() > kMostSteps)
      return Error{"found more than a million steps, expected fewer", "", "does the pattern match too much?"};
    return {};
  }
  std::string_view element_start() const override { return "\"ph\""; }

  /// Of events in two parts, once all are there.
  void join_parts() {
    pairs_.join([this](const KinetoEvent& e) { event(e); });
  }

  KinetoSurvey out;

 private:
  void event(const KinetoEvent& e) {
    if (e.phase == "B" || e.phase == "E") pairs_.add(e);
    if (e.phase != "X") return;
    const KinetoRole role = role_of(e);
    std::int64_t start = 0, duration = 0;
    if (!is_record(role, options_.keep_python) || !event_times(e, start, duration)) return;
    KinetoSurvey::Bin one{1};
    std::int64_t correlation = 0;
    if (role == KinetoRole::runtime && launches(runtime_call(e.name)) && integer_of(e.args.correlation, correlation) &&
        correlation > 0)
      one.first_correlation = one.last_correlation = static_cast<std::uint64_t>(correlation);
    count(start, one);
    const bool may_mark = role == KinetoRole::op || role == KinetoRole::annotation;
    if (may_mark && marks_step(e.name)) add_step(e, start, std::max<std::int64_t>(0, duration));
  }

  bool marks_step(std::string_view name) const {
    return pattern_ != nullptr ? pattern_->found_in(name) : name.starts_with(kProfilerStep);
  }

  void add_step(const KinetoEvent& e, std::int64_t start, std::int64_t duration) {
    TraceStep s;
    s.name = unescaped(e.name);
    s.start_ns = start;
    s.end_ns = start + duration;
    out.steps.push_back(std::move(s));
  }

  static std::int64_t bin_of(std::int64_t ns, std::int64_t width) {
    return ns >= 0 ? ns / width : -((-ns + width - 1) / width);
  }

  void count(std::int64_t start, const KinetoSurvey::Bin& one) {
    out.bins[bin_of(start, out.bin_ns)].add(one);
    if (out.bins.size() <= KinetoSurvey::kMostBins) return;
    std::map<std::int64_t, KinetoSurvey::Bin> wider;  // of twice the width: about half as many
    for (const auto& [at, bin] : out.bins) wider[bin_of(at, 2)].add(bin);
    out.bins = std::move(wider);
    out.bin_ns *= 2;
  }

  const TraceOptions& options_;
  const NamePattern* pattern_;
  KinetoParser parser_;
  KinetoPairs pairs_;
};

/// Where slices may begin: at steps, else at bins.
std::vector<std::int64_t> possible_begins(const KinetoSurvey& survey) {
  std::vector<std::int64_t> out;
  for (const TraceStep& s : survey.steps) out.push_back(s.start_ns);
  if (out.empty()) {
    for (const auto& [at, bin] : survey.bins) out.push_back(at * survey.bin_ns);
  }
  return out;
}

KinetoSurvey::Bin between(const KinetoSurvey& survey, std::int64_t begin, std::int64_t end) {
  KinetoSurvey::Bin sum;
  auto it = survey.bins.upper_bound(begin / survey.bin_ns - 1);
  if (it != survey.bins.begin()) --it;
  for (; it != survey.bins.end() && it->first * survey.bin_ns < end; ++it) {
    if ((it->first + 1) * survey.bin_ns > begin) sum.add(it->second);
  }
  return sum;
}

}  // namespace

void KinetoSurvey::Bin::add(const Bin& other) {
  records += other.records;
  first_correlation = std::min(first_correlation, other.first_correlation);
  last_correlation = std::max(last_correlation, other.last_correlation);
}

Result<KinetoSurvey> survey_kineto(const TraceFile& file, const TraceOptions& options) {
  std::optional<NamePattern> pattern;
  if (!options.step_pattern.empty()) {
    auto compiled = NamePattern::compile(options.step_pattern);
    if (!compiled) return Error{"step pattern: " + compiled.error().text(), "", ""};
    pattern = std::move(*compiled);
  }
  Surveyor surveyor(options, pattern ? &*pattern : nullptr);
  TRY_ASSIGN(const std::unique_ptr<ByteSource> source, file.open());
  TRY(stream_json(*source, file.path, options.window, options.max_piece, surveyor));
  surveyor.join_parts();
  keep_outermost_steps(surveyor.out.steps);
  return std::move(surveyor.out);
}

std::vector<TraceSlice> plan_slices(const KinetoSurvey& survey, std::uint64_t records) {
  std::vector<TraceSlice> out;
  const std::vector<std::int64_t> begins = possible_begins(survey);
  TraceSlice open;
  std::uint64_t in_open = 0;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::int64_t next = i + 1 < begins.size() ? begins[i + 1] : TraceSlice::kEnd;
    const std::uint64_t here = between(survey, i == 0 ? TraceSlice::kBegin : begins[i], next).records;
    if (here > 0 && in_open > 0 && in_open + here > records) {
      open.end = begins[i];
      out.push_back(open);
      open = TraceSlice{};
      open.begin = begins[i];
      open.host_begin = begins[i - 1];
      in_open = 0;
    }
    in_open += here;
  }
  out.push_back(open);
  for (TraceSlice& s : out) {
    const KinetoSurvey::Bin bin = between(survey, s.begin, s.end);
    s.first_correlation = bin.first_correlation;
    s.last_correlation = bin.last_correlation;
  }
  return out;
}

}  // namespace distsim::traces
