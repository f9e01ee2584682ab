#include "sim/app/diagnostics.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>

#include "base/log.hpp"

namespace distsim::app {
namespace {

struct NamedLevel {
  const char* name;
  LogLevel level;
  spdlog::level::level_enum spd;
};

constexpr std::array kLevels{NamedLevel{"trace", LogLevel::trace, spdlog::level::trace},
                             NamedLevel{"debug", LogLevel::debug, spdlog::level::debug},
                             NamedLevel{"info", LogLevel::info, spdlog::level::info},
                             NamedLevel{"warn", LogLevel::warn, spdlog::level::warn},
                             NamedLevel{"error", LogLevel::error, spdlog::level::err},
                             NamedLevel{"off", LogLevel::off, spdlog::level::off}};

std::vector<std::string> level_names() {
  std::vector<std::string> names;
  for (const NamedLevel& l : kLevels) names.emplace_back(l.name);
  return names;
}

std::shared_ptr<spdlog::logger> make_logger() {
  auto logger = std::make_shared<spdlog::logger>("distsim", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("distsim: %l: %v");
  logger->set_level(spdlog::level::trace);  // base/log.hpp decides
  return logger;
}

void write_line(LogLevel level, std::string_view line) {
  static const std::shared_ptr<spdlog::logger> logger = make_logger();
  logger->log(kLevels[static_cast<std::size_t>(level)].spd, spdlog::string_view_t(line.data(), line.size()));
}

LogLevel level_of(const LogFlags& flags) {
  if (flags.verbose) return LogLevel::debug;
  const auto it =
      std::find_if(kLevels.begin(), kLevels.end(), [&](const NamedLevel& l) { return flags.level == l.name; });
  return it == kLevels.end() ? LogLevel::warn : it->level;
}

}  // namespace

std::shared_ptr<LogFlags> add_log_flags(CLI::App& app) {
  app.fallthrough();
  auto flags = std::make_shared<LogFlags>();
  CLI::Option* verbose =
      app.add_flag("-v,--verbose", flags->verbose,
                   "Say on standard error what is read, used and written, and how long it takes: --log-level debug");
  app.add_option("--log-level", flags->level, "What is said on standard error besides results; default: warn")
      ->check(CLI::IsMember(level_names()))
      ->excludes(verbose);
  return flags;
}

bool is_log_flag(const std::string& word, std::size_t& words) {
  words = word == "--log-level" ? 2 : 1;
  return words == 2 || word == "-v" || word == "--verbose" || word.starts_with("--log-level=");
}

void start_log(const LogFlags& flags) { connect_log(level_of(flags), write_line); }

}  // namespace distsim::app
