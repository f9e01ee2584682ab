// Which files make up a job, and whose they are.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "base/system/folder.hpp"
#include "base/text/printable.hpp"
#include "traces/chakra/chakra_set.hpp"

namespace distsim::traces {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostFiles = std::size_t{1} << 20;

/// A path as a pattern that matches nothing but itself.
std::string literal(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// Traces and gzipped ones that begin with the pattern.
std::vector<std::string> traces_matching(const std::string& pattern) {
  std::vector<std::string> files = paths_matching(pattern + ".et");
  std::ranges::move(paths_matching(pattern + ".et.gz"), std::back_inserter(files));
  return files;
}

/// <prefix>.<digits>.et: those of the prefix `t` are not those of `t.1`.
std::vector<std::string> files_of_prefix(const std::string& prefix) {
  std::vector<std::string> files = traces_matching(literal(prefix) + ".*");
  std::erase_if(files, [&](const std::string& file) {
    std::string_view rank = std::string_view(file).substr(prefix.size() + 1);
    rank = rank.substr(0, rank.rfind(rank.ends_with(".gz") ? ".et.gz" : ".et"));
    return rank.find_first_not_of("0123456789") != std::string_view::npos;
  });
  return files;
}

std::vector<std::string> files_of(const std::string& word) {
  std::error_code ignored;
  if (fs::is_directory(word, ignored)) return traces_matching(literal(word) + "/*");
  if (fs::exists(word, ignored)) return {word};
  if (fs::exists(word + ".0.et", ignored) || fs::exists(word + ".0.et.gz", ignored)) return files_of_prefix(word);
  return paths_matching(word);
}

bool drop_suffix(std::string& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.resize(text.size() - suffix.size());
  return true;
}

/// The number before the suffix: 17 of "run/dlrm.17.et".
std::optional<std::uint32_t> rank_of(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  drop_suffix(name, ".gz");
  if (!drop_suffix(name, ".et")) drop_suffix(name, ".json");
  const std::size_t end = name.find_last_not_of("0123456789");
  const std::string_view digits = std::string_view(name).substr(end == std::string::npos ? 0 : end + 1);
  std::uint32_t rank = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  return digits.empty() || parsed.ec != std::errc() ? std::nullopt : std::optional(rank);
}

}  // namespace

Result<std::vector<std::string>> find_chakra_files(const std::vector<std::string>& words) {
  std::vector<std::pair<std::uint32_t, std::string>> ranked;
  for (const std::string& word : words) {
    const auto files = files_of(word);
    if (files.empty()) return Error{"found no such file, expected traces: <prefix>.<rank>.et", printable(word), ""};
    for (const std::string& file : files) {
      const auto rank = rank_of(file);
      if (!rank && (words.size() > 1 || files.size() > 1))
        return Error{"found no rank in the file name, expected <prefix>.<rank>.et", printable(file), ""};
      ranked.emplace_back(rank.value_or(0), file);
    }
  }
  if (ranked.size() > kMostFiles)
    return Error{"found " + std::to_string(ranked.size()) + " traces, expected at most 2^20", "", ""};
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> out;
  for (const auto& [rank, file] : ranked) {
    const auto next = static_cast<std::uint32_t>(out.size());
    if (rank < next)
      return Error{"found a second trace of rank " + std::to_string(rank) + ", expected one", printable(file),
                   "the first is " + printable(out[rank])};
    if (rank > next && ranked.size() > 1) {
      return Error{"found rank " + std::to_string(rank) + ", expected rank " + std::to_string(next) + " before it",
                   printable(file), "every rank of the job needs a trace"};
    }
    out.push_back(file);
  }
  return out;
}

}  // namespace distsim::traces
