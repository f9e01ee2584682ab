#include "traces/stacks/host_stacks.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

#include "base/file.hpp"
#include "base/json/parse_once.hpp"
#include "base/text/printable.hpp"

namespace distsim::traces {
namespace {

constexpr std::size_t kMostStackBytes = std::size_t{256} << 20;
constexpr std::size_t kDeepestStack = 4096;
constexpr double kMostWeight = 1e12;  // of one stack: seconds or samples

/// Sums by function.
class StackSums {
 public:
  /// A stack from its root on. False: too deep, a function without a name, or no weight.
  bool add(std::span<const std::string_view> stack, double weight) {
    if (stack.empty() || stack.size() > kDeepestStack || !(weight >= 0 && weight <= kMostWeight)) return false;
    const auto is_blank = [](std::string_view frame) { return frame.find_first_not_of(" \t") == frame.npos; };
    if (std::ranges::any_of(stack, is_blank)) return false;
    ++round_;
    for (const std::string_view frame : stack) {
      Sum& s = at(frame);
      if (s.round != round_) s.total += weight;
      s.round = round_;
    }
    at(stack.back()).self += weight;
    sum_ += weight;
    return true;
  }
  /// Of a thread that was in no function. False: no weight.
  bool add_idle(double weight) {
    if (!(weight >= 0 && weight <= kMostWeight)) return false;
    sum_ += weight;
    return true;
  }
  void add_function(std::string_view name, double self, double total) {
    Sum& s = at(name);
    s.self += self;
    s.total += total;
    sum_ += self;
  }
  bool has(std::string_view name) const { return sums_.contains(std::string(name)); }
  double sum() const { return sum_; }
  std::vector<HostFunction> take() {
    std::vector<HostFunction> out;
    for (const auto& [name, s] : sums_) out.push_back({name, s.self, s.total});
    std::ranges::stable_sort(out, [](const HostFunction& a, const HostFunction& b) {
      return a.self != b.self ? a.self > b.self : a.name < b.name;
    });
    return out;
  }

 private:
  struct Sum {
    double self = 0, total = 0;
    std::uint64_t round = 0;
  };
  Sum& at(std::string_view name) { return sums_[std::string(name)]; }
  std::unordered_map<std::string, Sum> sums_;
  std::uint64_t round_ = 0;
  double sum_ = 0;
};

std::optional<double> stack_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= kMostWeight;
  return good ? std::optional<double>(value) : std::nullopt;
}

template <class Each>
void for_each_line(std::string_view text, Each each) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) each(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

struct Parsed {
  StackSums sums;
  std::uint64_t broken = 0;
  std::uint64_t stacks = 0, framed = 0;  ///< collapsed; those of several frames, or of one that names its line
  std::optional<double> stated;          ///< seconds of all, where a table says so
  std::optional<double> stated_calls;    ///< likewise calls
  double calls = 0;                      ///< of all rows of a table
  /// Roots of stacks that name a thread, and processes, of which one may have no name.
  std::set<std::string, std::less<>> threads, processes;
  std::string said;        ///< what the profiler says of itself among the stacks, its first line
  std::string impossible;  ///< the first row of a table that contradicts itself
};

constexpr double kPrintedTolerance = 1.01, kPrintedDigit = 1e-3;  // of seconds with three digits

/// "forward (train.py:12)"
bool names_its_line(std::string_view frame) {
  const std::size_t colon = frame.rfind(':');
  return frame.ends_with(')') && colon != frame.npos && frame.find(" (") < colon &&
         stack_number(frame.substr(colon + 1, frame.size() - colon - 2));
}

constexpr std::size_t kMostThreads = 4096;  // that are told apart

/// "process 12:\"python train.py\"" of py-spy, and no function of that name.
bool is_process(std::string_view frame) {
  constexpr std::string_view kProcess = "process ";
  if (!frame.starts_with(kProcess)) return false;
  frame.remove_prefix(kProcess.size());
  const std::size_t digits = frame.find_first_not_of("0123456789");
  return digits != 0 && digits != frame.npos && frame.substr(digits).starts_with(":\"");
}

/// Its command line may hold the character that separates frames; its end is a quote. Without one it is the frame alone.
std::size_t parts_of_process(std::span<const std::string_view> stack) {
  const std::size_t opening = stack.front().find('"');
  for (std::size_t i = 0; i < stack.size(); ++i) {
    if (stack[i].ends_with('"') && (i > 0 || stack[i].size() > opening + 1)) return i + 1;
  }
  return 1;
}

/// "thread (0x7F01): MainThread" of py-spy, and no function "thread (train.py:12)".
bool is_thread(std::string_view frame) {
  constexpr std::string_view kThread = "thread (";
  if (!frame.starts_with(kThread)) return false;
  frame.remove_prefix(kThread.size());
  return frame.find_first_not_of("0123456789abcdefABCDEFxX") == frame.find(')') && !frame.starts_with(')');
}

/// Of "Process 12 Thread 0x7F01 \"MainThread\"", as py-spy names profiles of several processes: "Process 12"; else "".
std::string_view process_of_profile(std::string_view name) {
  constexpr std::string_view kProcess = "Process ", kThread = " Thread ";
  const std::size_t end = name.find(kThread);
  if (!name.starts_with(kProcess) || end == name.npos || end <= kProcess.size()) return "";
  const std::string_view digits = name.substr(kProcess.size(), end - kProcess.size());
  return digits.find_first_not_of("0123456789") == digits.npos ? name.substr(0, end) : "";
}

/// The functions of a stack of py-spy, below its processes, each the parent of the next, and its thread, which are kept.
/// `place`: the process of all stacks, if they do not say it.
std::span<const std::string_view> below_thread(std::span<const std::string_view> stack, Parsed& out,
                                               std::string place = "") {
  while (!stack.empty() && is_process(stack.front())) {
    for (const std::string_view part : stack.first(parts_of_process(stack))) place.append(part).append(";");
    stack = stack.subspan(parts_of_process(stack));
  }
  if (out.processes.size() < kMostThreads) out.processes.insert(place);
  if (stack.empty() || !is_thread(stack.front())) return stack;
  place += stack.front();
  if (out.threads.size() < kMostThreads) out.threads.insert(std::move(place));
  return stack.subspan(1);
}

/// Of several that work beside each other.
void note_added_up(TraceNotes& notes, std::size_t number, const char* what) {
  if (number > 1) notes.assume(std::to_string(number) + " " + what + " of the host are added up");
}

/// "main;train;forward 12"
void add_collapsed(std::string_view line, std::vector<std::string_view>& stack, Parsed& out) {
  if (line.starts_with("py-spy> ")) {
    if (out.said.empty()) out.said = line.substr(0, 120);
    return;
  }
  const std::size_t blank = line.rfind(' ');
  const auto count = blank == std::string_view::npos ? std::nullopt : stack_number(line.substr(blank + 1));
  stack.clear();
  for (std::size_t at = 0; count && at <= blank && stack.size() <= kDeepestStack;) {
    const std::size_t end = std::min(line.find(';', at), blank);
    stack.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  const std::span<const std::string_view> functions = count ? below_thread(stack, out) : stack;
  const bool idle = functions.empty() && !stack.empty();
  if (!count || !(idle ? out.sums.add_idle(*count) : out.sums.add(functions, *count))) {
    ++out.broken;
    return;
  }
  ++out.stacks;
  out.framed += stack.size() > 1 || names_its_line(stack.front()) ? 1 : 0;
}

/// Words of a row of pstats; the last is all that is left: a name may hold blanks.
std::array<std::string_view, 6> pstats_words(std::string_view line) {
  std::array<std::string_view, 6> words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const std::size_t end = i + 1 == words.size() ? line.size() : std::min(line.find(' '), line.size());
    words[i] = line.substr(0, end);
    line.remove_prefix(end);
  }
  return words;
}

/// "12" and "12/5": calls, and those of them that are not recursive.
struct CallCounts {
  double all = 0, primitive = 0;
};
std::optional<CallCounts> call_counts(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto all = stack_number(text.substr(0, slash));
  const auto primitive = slash == text.npos ? all : stack_number(text.substr(slash + 1));
  if (!all || !primitive || *all < 1 || *primitive < 1 || *primitive > *all) return std::nullopt;
  return CallCounts{*all, *primitive};
}

/// Whether a printed time of one call is that of all over their number; all three have three digits.
bool agrees_per_call(std::string_view printed, double time, double calls) {
  const auto each = stack_number(printed);
  return each && std::abs(*each - time / calls) <= kPrintedDigit + (kPrintedTolerance - 1) * time / calls;
}

void add_pstats(std::string_view line, Parsed& out) {
  const auto words = pstats_words(line);
  const auto self = stack_number(words[1]), total = stack_number(words[3]);
  const auto calls = call_counts(words[0]);
  if (!calls || words[5].empty()) {  // cut off, where no function is named
    ++out.broken;
    return;
  }
  if (self && total && *self > *total * kPrintedTolerance + kPrintedDigit && out.impossible.empty())
    out.impossible = printable(words[5], 60) + ": found tottime " + std::string(words[1]) +
                     ", expected at most cumtime, " + std::string(words[3]);
  if (self && total && out.impossible.empty() &&
      (!agrees_per_call(words[2], *self, calls->all) || !agrees_per_call(words[4], *total, calls->primitive)))
    out.impossible = printable(words[5], 60) + ": found percall " + printable(words[2], 20) + " and " +
                     printable(words[4], 20) + ", expected tottime and cumtime over ncalls";
  out.calls += calls->all;
  if (out.impossible.empty() && out.sums.has(words[5]))
    out.impossible = "found " + in_quotes(words[5], 60) + " a second time, expected each function once";
  if (self && total)
    out.sums.add_function(words[5], *self, *total);
  else
    ++out.broken;
}

bool is_pstats_header(std::string_view line) {
  const auto words = pstats_words(line);
  return words[0] == "ncalls" && words[1] == "tottime" && words[3] == "cumtime";
}

/// Of "12345 function calls (12000 primitive calls) in 10.000 seconds", which stands above the table.
std::optional<double> stated_seconds(std::string_view line) {
  constexpr std::string_view kIn = " in ", kSeconds = " seconds";
  if (line.find(" function calls") == std::string_view::npos) return std::nullopt;
  const std::size_t in = line.rfind(kIn), end = line.rfind(kSeconds);
  if (in == std::string_view::npos || end == std::string_view::npos || end < in) return std::nullopt;
  return stack_number(line.substr(in + kIn.size(), end - in - kIn.size()));
}

std::optional<double> stated_calls(std::string_view line) {
  const std::size_t at = line.find(" function calls");
  if (at == std::string_view::npos) return std::nullopt;
  line = line.substr(0, at);
  return stack_number(line.substr(line.find_last_of(' ') + 1));
}

/// Shares are of all that ran, also where the table lists only some functions (print_stats(20)).
void complete_table(const Parsed& parsed, HostStacks& stacks) {
  constexpr double kRounding = 1.01;  // of printed milliseconds
  double whole = parsed.stated.value_or(0);
  for (const HostFunction& f : stacks.functions) whole = std::max(whole, f.total);
  char text[160];
  if (whole <= kRounding * stacks.sum) {
    stacks.sum = std::max(stacks.sum, whole);  // times in themselves, rounded one by one, may be less
    if (!parsed.stated_calls || parsed.calls >= *parsed.stated_calls) return;
    std::snprintf(text, sizeof text, "the table lists %.0f of %.0f calls: functions are left out of it", parsed.calls,
                  *parsed.stated_calls);
    stacks.notes.assume(text);
    return;
  }
  std::snprintf(text, sizeof text, "the table lists %.3f of %.3f s of the host: functions are left out of it",
                stacks.sum, whole);
  stacks.notes.assume(text);
  stacks.sum = whole;
}

/// What of a table cannot be: times beyond the whole that it states.
std::string beyond_whole(const Parsed& parsed, const std::vector<HostFunction>& functions) {
  if (parsed.impossible.empty() && parsed.stated_calls && parsed.calls > *parsed.stated_calls) {
    char text[160];
    std::snprintf(text, sizeof text, "ncalls: found %.0f in all, expected at most the %.0f of the table", parsed.calls,
                  *parsed.stated_calls);
    return text;
  }
  if (!parsed.impossible.empty() || !parsed.stated || *parsed.stated <= 0) return parsed.impossible;
  const double most = *parsed.stated * kPrintedTolerance + kPrintedDigit * static_cast<double>(functions.size() + 1);
  char text[160];
  if (parsed.sums.sum() > most) {
    std::snprintf(text, sizeof text, "tottime: found %.3f s in all, expected at most the %.3f s of the table",
                  parsed.sums.sum(), *parsed.stated);
    return text;
  }
  for (const HostFunction& f : functions) {
    if (f.total <= most) continue;
    std::snprintf(text, sizeof text, ": found cumtime %.3f s, expected at most the %.3f s of the table", f.total,
                  *parsed.stated);
    return printable(f.name, 60) + text;
  }
  return "";
}

/// Of speedscope's units as seconds; nullopt: no time.
std::optional<double> seconds_of(const std::string& unit) {
  static const std::map<std::string, double> units{
      {"nanoseconds", 1e-9}, {"microseconds", 1e-6}, {"milliseconds", 1e-3}, {"seconds", 1}};
  const auto at = units.find(unit);
  return at == units.end() ? std::nullopt : std::optional<double>(at->second);
}

using Json = nlohmann::json;

std::vector<std::string> speedscope_frames(const Json& root) {
  std::vector<std::string> names;
  const Json shared = root.value("shared", Json::object());
  if (!shared.is_object() || !shared.contains("frames") || !shared["frames"].is_array()) return names;
  for (const Json& f : shared["frames"]) {
    const auto text = [&](const char* key) {
      return f.is_object() && f.contains(key) && f[key].is_string() ? f[key].get<std::string>() : std::string();
    };
    const std::string file = text("file");
    names.push_back(text("name") + (file.empty() ? "" : " (" + file + ")"));
  }
  return names;
}

/// Weights of one profile beyond the whole that it states, or "".
std::string beyond_end(const Json& profile, const std::string& unit) {
  const auto stated = [&](const char* key) {
    return profile.contains(key) && profile[key].is_number() ? std::optional(profile[key].get<double>()) : std::nullopt;
  };
  const auto start = stated("startValue"), end = stated("endValue");
  if (!start || !end) return "";
  double sum = 0;
  for (const Json& w : profile["weights"]) sum += w.is_number() ? std::max(0., w.get<double>()) : 0;
  if (sum <= (*end - *start) * kPrintedTolerance + kPrintedDigit) return "";
  char text[160];
  std::snprintf(text, sizeof text,
                "weights: found %.6g%s in all, expected at most the %.6g from startValue to endValue", sum,
                unit.empty() || unit == "none" ? "" : (" " + unit).c_str(), *end - *start);
  return text;
}

/// One sampled profile: a list of stacks of frame indices, and as many weights.
void add_profile(const Json& profile, const std::vector<std::string>& names, double unit, Parsed& out) {
  const Json &samples = profile["samples"], &weights = profile["weights"];
  std::vector<std::string_view> stack;
  const std::string name =
      profile.contains("name") && profile["name"].is_string() ? profile["name"].get<std::string>() : "";
  const std::string process(process_of_profile(name));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    stack.clear();
    bool good = samples[i].is_array() && i < weights.size() && weights[i].is_number();
    for (std::size_t k = 0; good && k < samples[i].size(); ++k) {
      good = samples[i][k].is_number_unsigned() && samples[i][k].get<std::uint64_t>() < names.size();
      if (good) stack.push_back(names[samples[i][k].get<std::uint64_t>()]);
    }
    if (!good || !out.sums.add(below_thread(stack, out, process), weights[i].get<double>() * unit)) ++out.broken;
  }
}

Result<void> add_speedscope(const std::string& text, const std::string& path, HostStacks& stacks, Parsed& out) {
  std::string twice;
  bool too_many = false;
  const Json root = parse_once(text, twice, &too_many);
  if (too_many) return Error{too_many_json_values(), path, ""};
  if (!twice.empty()) return Error{"found the key " + in_quotes(twice, 100) + " twice, expected it once", path, ""};
  const bool profiles = root.is_object() && root.contains("profiles") && root["profiles"].is_array();
  if (!profiles) return Error{"found JSON without profiles, expected a file of speedscope", path, ""};
  const std::vector<std::string> names = speedscope_frames(root);
  std::size_t read = 0;
  stacks.seconds = true;
  for (const Json& p : root["profiles"]) {
    const bool sampled = p.is_object() && p.contains("samples") && p["samples"].is_array() && p.contains("weights") &&
                         p["weights"].is_array();
    if (!sampled) {
      stacks.notes.drop("profiles that are not sampled");
      continue;
    }
    const std::string named = p.contains("unit") && p["unit"].is_string() ? p["unit"].get<std::string>() : "";
    const auto unit = seconds_of(named);
    if (!unit && !named.empty() && named != "none")
      return Error{
          "unit: found " + in_quotes(named) + ", expected nanoseconds, microseconds, milliseconds, seconds or none",
          path, ""};
    if (read > 0 && stacks.seconds != unit.has_value())
      return Error{"found profiles with times and others without, expected one unit", path, ""};
    stacks.seconds = unit.has_value();
    if (const std::string beyond = beyond_end(p, named); !beyond.empty()) return Error{beyond, path, ""};
    if (p["weights"].size() > p["samples"].size()) out.broken += p["weights"].size() - p["samples"].size();
    add_profile(p, names, unit.value_or(1), out);
    ++read;
  }
  note_added_up(stacks.notes, read, "threads");
  return {};
}

}  // namespace

Result<HostStacks> read_host_stacks(const std::string& path) {
  TRY_ASSIGN(std::string text, read_file(path, kMostStackBytes));
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // a byte order mark
  if (const std::size_t first = text.find_first_not_of(" \t\r\n"); first < text.size() && text[first] == '{')
    text.erase(0, first);
  if (text.find('\0') != std::string::npos)
    return Error{"found a binary file, expected stacks as text", path,
                 "of cProfile print it: python3 -c \"import pstats; pstats.Stats('FILE').print_stats()\""};
  HostStacks stacks;
  Parsed parsed;
  if (text.starts_with("{")) {
    stacks.format = "speedscope";
    TRY(add_speedscope(text, path, stacks, parsed));
  } else {
    bool in_table = false;
    std::vector<std::string_view> stack;
    for_each_line(text, [&](std::string_view line) { in_table = in_table || is_pstats_header(line); });
    stacks.format = in_table ? "pstats" : "collapsed stacks";
    stacks.seconds = in_table;
    const bool pstats = in_table;
    std::optional<double> stated;
    std::size_t tables = 0;
    in_table = false;
    for_each_line(text, [&](std::string_view line) {
      tables += is_pstats_header(line) ? 1 : 0;
      if (!pstats)
        add_collapsed(line, stack, parsed);
      else if (tables > 1)
        return;
      else if (in_table)
        add_pstats(line, parsed);
      else if (!(in_table = is_pstats_header(line)) && !stated)
        stated = stated_seconds(line), parsed.stated_calls = stated_calls(line);
    });
    if (tables > 1)
      return Error{"found " + std::to_string(tables) + " tables of cProfile, expected one", path,
                   "add profiles up before they are printed: pstats.Stats('FIRST', 'SECOND').print_stats()"};
    if (pstats) parsed.stated = stated;
  }
  if (2 * parsed.framed < parsed.stacks)
    return Error{"found " + std::to_string(parsed.stacks - parsed.framed) + " of " + std::to_string(parsed.stacks) +
                     " lines that are no stack such as 'main;train;forward 12', expected py-spy's raw or speedscope "
                     "output, or cProfile's table",
                 path, ""};
  stacks.notes.drop("lines or samples that cannot be read", parsed.broken);
  note_added_up(stacks.notes, parsed.processes.size(), "processes");
  note_added_up(stacks.notes, parsed.threads.size(), "threads");
  if (!parsed.said.empty()) stacks.notes.assume("the profiler says of itself: " + in_quotes(parsed.said, 120));
  stacks.sum = parsed.sums.sum();
  stacks.functions = parsed.sums.take();
  if (const std::string wrong = beyond_whole(parsed, stacks.functions); !wrong.empty()) return Error{wrong, path, ""};
  if (stacks.format == "pstats" && stacks.sum > 0) complete_table(parsed, stacks);
  if (!(stacks.sum > 0))
    return Error{"found no stack with samples, expected py-spy's raw or speedscope output, or cProfile's table", path,
                 ""};
  return stacks;
}

}  // namespace distsim::traces
