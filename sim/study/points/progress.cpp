#include "sim/study/points/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <utility>

#include "base/log.hpp"
#include "base/output.hpp"
#include "base/text/counted.hpp"

namespace distsim::study {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(200);
constexpr auto kLine = std::chrono::seconds(10);

std::string time_left(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(std::min(seconds, 1e9)));
  if (whole < 100) return fmt::format("{} s", whole);
  if (whole < 6000) return fmt::format("{} min", (whole + 59) / 60);
  return fmt::format("{:.1f} h", static_cast<double>(whole) / 3600);
}

std::size_t columns_of_terminal() {
  struct winsize size {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

}  // namespace

StudyProgress::StudyProgress(std::string command, std::size_t total, std::size_t kept, std::string noun)
    : command_(std::move(command)),
      noun_(std::move(noun)),
      total_(total),
      kept_(kept),
      terminal_(::isatty(STDERR_FILENO) != 0),
      begin_(Clock::now()),
      last_(begin_) {}

StudyProgress::~StudyProgress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

std::string StudyProgress::text(const std::string& command, std::size_t done, std::size_t total, double points_per_s,
                                const std::string& known, const std::string& noun) {
  std::string out = total == 0 ? fmt::format("distsim {}: {} played", command, grouped(done))
                               : fmt::format("distsim {}: {} of {} {}", command, grouped(done), grouped(total), noun);
  if (points_per_s > 0) {
    out += points_per_s < 10 ? fmt::format(", {:.1f}/s", points_per_s)
                             : fmt::format(", {}/s", grouped(static_cast<std::size_t>(std::llround(points_per_s))));
    if (done < total) out += ", " + time_left(static_cast<double>(total - done) / points_per_s) + " left";
  }
  return known.empty() ? out : out + ", " + known;
}

void StudyProgress::show(std::size_t done, const std::string& known) {
  if (!is_logged(LogLevel::error)) return;  // within a program that uses distsim as a library
  const Clock::time_point now = Clock::now();
  if (now - last_ < (terminal_ ? Clock::duration(kRedraw) : Clock::duration(kLine))) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  std::string line = text(command_, done, total_, static_cast<double>(done - kept_) / seconds, known, noun_);
  if (!terminal_) {
    remark(line.substr(line.find(' ') + 1));
    return;
  }
  line.resize(std::min(line.size(), columns_of_terminal() - 1));
  std::fprintf(stderr, "\r%s\033[K", line.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace distsim::study
