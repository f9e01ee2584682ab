#include "collectives/logs/checks/broken_off.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text/lower_case.hpp"
#include "collectives/logs/nccl_tests_row.hpp"

namespace distsim::collectives {
namespace {

/// What only a run that breaks off prints.
constexpr auto kFailureSigns = std::to_array<std::string_view>({
    "Test NCCL failure",
    "Test CUDA failure",
    "Test failure",
    "' failed with ",  // OSU: CUDA call 'cudaMalloc(...)' failed with 2
    " noticed that process",
    "Primary job  terminated normally, but",
    "MPI_ABORT was invoked",
    "Fatal error in ",
    "(core dumped)",
    "terminate called after throwing",
    "srun: error:",
    "slurmstepd: error: ***",
    "oom-kill event",
    "Traceback (most recent call last)",
    "DistBackendError",
    "ChildFailedError",
    "Watchdog caught collective operation timeout",
    " death signal, ",
    "# Interrupted: the table is partial",
    "# Stopped at a wrong element",
});

/// Signals that end a process, as the C library calls them, and shells, MPI and PyTorch with it.
constexpr auto kEndingSignals = std::to_array<std::string_view>(
    {"Killed", "Aborted", "Terminated", "Segmentation fault", "Bus error", "Illegal instruction",
     "Floating point exception", "User defined signal", "CPU time limit exceeded"});

/// Who starts and watches processes, what these are called, and what is said of those that did not end by themselves.
constexpr auto kProcessWords =
    std::to_array<std::string_view>({"mpirun", "mpiexec", "orterun", "prterun", "orte", "prte", "srun", "slurmstepd",
                                     "process", "processes", "job", "daemon", "application"});
constexpr auto kEndWords =
    std::to_array<std::string_view>({"killed", "killing", "aborted", "aborting", "terminated", "terminating",
                                     "termination", "exited", "died", "lost", "unexpectedly", "cancelled"});
/// Of what might happen, as notices at login say it.
constexpr auto kMightWords = std::to_array<std::string_view>({"will", "would", "may", "might", "if"});
/// A number behind these is no count: "rank 0 was lost" is not "0 ranks were lost".
constexpr auto kNumbered = std::to_array<std::string_view>(
    {"rank", "process", "task", "job", "step", "node", "daemon", "pid", "gpu", "status", "code", "signal"});

bool is_letter_or_digit(char c) { return is_digit(c) || (lower_case(c) >= 'a' && lower_case(c) <= 'z'); }

/// Without what stands around it: "(Killed)." is killed.
std::string bare_word(std::string_view word) {
  while (!word.empty() && !is_letter_or_digit(word.front())) word.remove_prefix(1);
  while (!word.empty() && !is_letter_or_digit(word.back())) word.remove_suffix(1);
  return lower_case(word);
}

bool names_ending_signal(std::string_view line) {
  return std::ranges::any_of(kEndingSignals, [&](std::string_view name) {
    const std::size_t at = line.find(name), end = at + name.size();
    return at != line.npos && (at == 0 || !is_letter_or_digit(line[at - 1])) &&
           (end == line.size() || !is_letter_or_digit(line[end]));
  });
}

/// The words of a line, of which "Exit_status=0" and "0:0" are two each.
std::vector<std::string> bare_words(std::string_view line) {
  std::string apart(line);
  std::ranges::replace_if(
      apart, [](char c) { return c == '=' || c == ':'; }, ' ');
  std::vector<std::string> out;
  for (const std::string_view word : words_of(apart)) out.push_back(bare_word(word));
  return out;
}

/// "mpirun has exited due to process rank 1", "=>> PBS: job killed: walltime 60 exceeded limit 30"; a flag such as
/// --kill-on-bad-exit is another word. Nothing was wrong with "exited with status 0", "killed 0 processes" and what might happen.
bool tells_end_of_process(std::string_view line) {
  const std::vector<std::string> words = bare_words(line);
  const auto is_any = [&](std::size_t i, const auto& known) {
    return i < words.size() && std::ranges::any_of(known, [&](std::string_view one) { return words[i] == one; });
  };
  const auto is_end = [&](std::size_t i) {
    return is_any(i, kEndWords) || (i > 0 && i < words.size() && words[i] == "out" && words[i - 1] == "timed");
  };
  bool of_process = false, ended = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    of_process = of_process || is_any(i, kProcessWords);
    ended = ended || is_end(i);
    const bool might =
        is_any(i, kMightWords) && (words[i] == "if" || !ended);  // "X died; the job will ..." states an end
    if (words[i] == "normally" || words[i] == "successfully" || might) return false;
    const bool numbered = i > 0 && is_any(i - 1, kNumbered);
    if (words[i] == "0" && i > 0 && (words[i - 1].ends_with("status") || words[i - 1].ends_with("code"))) return false;
    const bool none =
        words[i] == "no" || (words[i] == "0" && i > 0 && !numbered);  // a 0 in front is the label of a rank
    const bool of_processes = is_any(i + 1, kProcessWords) || is_any(i + 2, kProcessWords) || i + 1 == words.size();
    if (none && ((i > 0 && is_end(i - 1) && of_processes) || is_end(i + 1) || is_end(i + 2))) return false;
  }
  return of_process && ended;
}

}  // namespace

bool tells_failure(std::string_view line) {
  const auto is_in_line = [&](std::string_view sign) { return line.find(sign) != line.npos; };
  return std::ranges::any_of(kFailureSigns, is_in_line) || names_ending_signal(line) || tells_end_of_process(line);
}

}  // namespace distsim::collectives
