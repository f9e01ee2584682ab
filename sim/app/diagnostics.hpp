// -v and --log-level: what the program says about its work, on standard error.
#pragma once

#include <memory>
#include <string>

namespace CLI {
class App;
}

namespace distsim::app {

struct LogFlags {
  bool verbose = false;
  std::string level;  ///< empty: not given
};

/// Declares the flags; every command added later takes them too.
std::shared_ptr<LogFlags> add_log_flags(CLI::App& app);

/// Whether a word of the command line is one of these flags; how many words it takes is in `words`.
bool is_log_flag(const std::string& word, std::size_t& words);

void start_log(const LogFlags& flags);

}  // namespace distsim::app
