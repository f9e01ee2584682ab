#include "base/log.hpp"

#include <atomic>

#include "base/text/printable.hpp"

namespace distsim {
namespace {

constexpr std::size_t kMaxLine = 4096;

std::atomic<LogLevel> lowest_level{LogLevel::off};
std::atomic<LogSink> connected{nullptr};
// At the alignment of the tables that follow thread-local data: with less, mold 1.10 begins the read-only part in the page
// before where those start a page, and the program cannot be loaded.
alignas(8) thread_local int silences = 0;

}  // namespace

void connect_log(LogLevel lowest, LogSink sink) {
  connected = sink;
  lowest_level = sink ? lowest : LogLevel::off;
}

LogSilence::LogSilence() { ++silences; }
LogSilence::~LogSilence() { --silences; }

bool is_logged(LogLevel level) {
  return silences == 0 && level != LogLevel::off && level >= lowest_level.load(std::memory_order_relaxed);
}

void write_log(LogLevel level, std::string_view text) {
  if (const LogSink sink = connected.load()) sink(level, printable(text, kMaxLine));
}

}  // namespace distsim
