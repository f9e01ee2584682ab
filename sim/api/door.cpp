#include "sim/api/door.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "base/text/printable.hpp"
#include "sim/config/config.hpp"
#include "sim/config/config_folders.hpp"

namespace distsim::api {
namespace {

constexpr const char* kKinds[] = {"systems", "devices", "models", "frameworks"};

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 9 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "12" of "x.yaml:12", which is cut off.
int cut_number(std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || !is_number(std::string_view(text).substr(colon + 1))) return 0;
  const int number = std::atoi(text.c_str() + colon + 1);
  text.resize(colon);
  return number;
}

/// The command's "--gpus-per-node: found 0" is about an argument here: "gpus_per_node: found 0"; "--a, --b: ..." about two.
std::string as_argument(std::string text) {
  for (std::size_t begin = 0; text.compare(begin, 2, "--") == 0;) {
    text.erase(begin, 2);
    std::size_t i = begin;
    for (; i < text.size() && text[i] != ':' && text[i] != ' '; ++i) {
      if (text[i] == '-') text[i] = '_';
    }
    if (i == begin || i == text.size() || text[i] != ' ' || text[i - 1] != ',') break;
    begin = i + 1;
  }
  return text;
}

void replace_all(std::string& text, const std::string& old, const std::string& by) {
  for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + by.size()))
    text.replace(at, old.size(), by);
}

}  // namespace

ConfigError::ConfigError(std::string where, std::string problem, std::string hint)
    : std::runtime_error(as_argument(Error{problem, where, hint}.text())),
      where_(message_line(as_argument(where))),
      problem_(message_line(as_argument(std::move(problem)))),
      hint_(message_line(hint)),
      file_(where.starts_with("--") ? "" : where) {  // an option is no file
  column_ = cut_number(file_);
  line_ = cut_number(file_);
  if (line_ == 0) std::swap(line_, column_);
}
ConfigError::ConfigError(const ConfigError&) = default;
ConfigError::~ConfigError() = default;

Interrupted::Interrupted() : std::runtime_error("interrupted") {}
Interrupted::Interrupted(const Interrupted&) = default;
Interrupted::~Interrupted() = default;

void throw_error(const Error& error) {
  if (stop_asked()) throw Interrupted();
  throw ConfigError(error.where, error.what, error.hint);
}

std::vector<std::string> as_arguments(std::vector<std::string> lines) {
  for (std::string& line : lines) line = as_argument(std::move(line));
  return lines;
}

std::vector<std::string> as_arguments(const std::vector<study::IdleArgument>& idle) {
  std::vector<std::string> lines;
  for (study::IdleArgument one : idle) {
    replace_all(one.says, "by --set ", "by set ");
    lines.push_back(one.text());
  }
  return as_arguments(std::move(lines));
}

bool is_among(const std::vector<study::IdleArgument>& some, const study::IdleArgument& idle) {
  return std::ranges::any_of(
      some, [&](const study::IdleArgument& one) { return one.argument == idle.argument && one.says == idle.says; });
}

std::vector<study::IdleArgument> joined(std::vector<study::IdleArgument> some,
                                        const std::vector<study::IdleArgument>& others) {
  for (const study::IdleArgument& other : others) {
    if (!is_among(some, other)) some.push_back(other);
  }
  return some;
}

void check_surroundings() { value_of(config::check_config_folders()); }

Result<void> check_given(const Experiment& experiment) {
  if (experiment.text || !experiment.file.empty()) return {};
  return Error{"experiment: found neither a file nor a text, expected one of them", "", ""};
}

ExperimentPath::ExperimentPath(const Experiment& e) : own_(e.file), path_(e.file) {
  if (!e.text) return;
  text_.emplace(*e.text, e.file);
  path_ = text_->path();
}

Error ExperimentPath::named(Error error) const {
  for (std::string* part : {&error.what, &error.where, &error.hint}) *part = named(std::move(*part));
  return error;
}

std::string ExperimentPath::named(std::string text) const {
  if (text_) replace_all(text, path_, own_);
  return text;
}

std::string version() { return DISTSIM_VERSION; }

std::vector<std::string> config_folders() {
  check_surroundings();
  return config::config_folders("", "");
}

std::vector<std::string> names(const std::string& kind) {
  check_surroundings();
  if (std::ranges::find(kKinds, kind) == std::end(kKinds))
    throw ConfigError("", "kind: found " + in_quotes(kind) + ", expected systems, devices, models or frameworks", "");
  return config::names_in(kind);
}

}  // namespace distsim::api
