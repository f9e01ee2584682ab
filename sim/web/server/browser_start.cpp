#include "sim/web/server/browser_start.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/text/markup.hpp"
#include "base/text/printable.hpp"

namespace distsim::web {
namespace {

/// The words of one program of $BROWSER, with the address in its place or behind them.
std::vector<std::string> command_of(std::string_view text, const std::string& address) {
  std::vector<std::string> out;
  bool placed = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    std::string word(text.substr(begin, end - begin));
    begin = end + 1;
    if (word.empty()) continue;
    if (const std::size_t at = word.find("%s"); at != std::string::npos) {
      word.replace(at, 2, address);
      placed = true;
    }
    out.push_back(std::move(word));
  }
  if (!out.empty() && !placed) out.push_back(address);
  return out;
}

std::vector<std::vector<std::string>> commands(const std::string& address) {
  std::vector<std::vector<std::string>> out;
  const char* named = std::getenv("BROWSER");
  const std::string_view list = named == nullptr ? "" : named;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    if (auto words = command_of(list.substr(begin, end - begin), address); !words.empty())
      out.push_back(std::move(words));
    begin = end + 1;
  }
  if (out.empty()) out.push_back({"xdg-open", address});
  return out;
}

/// With no terminal, in a group of its own: Ctrl-C is for the server. -1 where it cannot be started.
pid_t start(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&how);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
  pid_t pid = -1;
  const int failed = ::posix_spawnp(&pid, arguments.front(), &files, &how, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&how);
  return failed == 0 ? pid : -1;
}

void say_not_opened(const std::string& why) {
  log_warn([&] { return "--open: " + why + "; open the URL above in a browser"; });
}

}  // namespace

std::string page_to(const std::string& url) {
  return "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>distsim</title><meta name=\"referrer\" "
         "content=\"no-referrer\"><meta http-equiv=\"refresh\" content=\"0; url=" +
         in_markup(url) + "\"></head><body><p><a href=\"" + in_markup(url) + "\">distsim serve</a></p></body></html>\n";
}

void BrowserStart::open(const std::string& url) {
  const auto folder = folder_.path();
  if (!folder.ok()) return say_not_opened(folder.error().text());
  const std::string file = *folder + "/open.html";
  if (const auto written = write_file_atomically(file, page_to(url)); !written.ok())
    return say_not_opened(written.error().text());
  std::string tried;
  children_.add(SIGCHLD);
  watch();
  for (const std::vector<std::string>& words : commands("file://" + file)) {
    program_ = words.front();
    pid_ = start(words);
    if (pid_ > 0) return;
    tried += (tried.empty() ? "" : ", ") + printable(program_, 80);
  }
  say_not_opened("found no " + tried + ", expected a browser: set $BROWSER, or install xdg-utils");
}

/// A browser may also run in the foreground: it ends when it ends.
void BrowserStart::watch() {
  children_.async_wait([this](boost::system::error_code error, int) {
    if (error) return;
    int status = 0;
    if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) say_not_opened(printable(program_, 80) + " failed");
      return;
    }
    watch();
  });
}

}  // namespace distsim::web
