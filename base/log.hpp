// Diagnostics: what is read, skipped, kept and written, and how long it takes. They go where the program connects them
// (`distsim`: standard error, see sim/app/diagnostics.hpp), nowhere until then, and never into results.
//
//   log_debug([&] { return path + ": skipped, of another system"; });   // the text is only made where somebody reads
//   it
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace distsim {

enum class LogLevel : std::uint8_t { trace, debug, info, warn, error, off };

/// Takes one line. May be called by several threads at once.
using LogSink = void (*)(LogLevel, std::string_view line);

/// From now on `sink` gets what is logged at `lowest` or above. To be called before threads are started; nullptr
/// disconnects.
void connect_log(LogLevel lowest, LogSink sink);

bool is_logged(LogLevel level);

/// While one of these lives, its thread logs nothing: for work that is not what the user asked for.
class LogSilence {
 public:
  LogSilence();
  ~LogSilence();
  LogSilence(const LogSilence&) = delete;
  LogSilence& operator=(const LogSilence&) = delete;
};

/// Makes one line of `text` (no control characters) and hands it on.
void write_log(LogLevel level, std::string_view text);

template <class Text>
void log_at(LogLevel level, const Text& text) {
  if (is_logged(level)) write_log(level, text());
}
template <class Text>
void log_debug(const Text& text) {
  log_at(LogLevel::debug, text);
}
template <class Text>
void log_warn(const Text& text) {
  log_at(LogLevel::warn, text);
}
template <class Text>
void log_info(const Text& text) {
  log_at(LogLevel::info, text);
}

}  // namespace distsim
