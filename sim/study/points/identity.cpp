#include "sim/study/points/identity.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/config/template_text.hpp"
#include "base/file.hpp"
#include "base/fnv.hpp"
#include "base/system/descriptor.hpp"
#include "base/text/printable.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/config/reference.hpp"
#include "sim/config/variants.hpp"

namespace distsim::study {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFileFact = "configuration file ";  // of a file that is named, before its path
constexpr std::size_t kMostNamingBytes = 1 << 20;  // of a file of configurations, as config_folders.hpp reads them

/// CRC-32 of a file; nothing where it cannot be read. `text`: where its first bytes go, up to one more than kMostNamingBytes.
std::optional<std::uint32_t> file_sum(const std::string& path, std::string* text = nullptr) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return std::nullopt;
  std::array<char, 1 << 16> block;
  uLong sum = 0;
  ssize_t n = 0;
  while ((n = ::read(file.get(), block.data(), block.size())) > 0) {
    sum = ::crc32(sum, reinterpret_cast<const Bytef*>(block.data()), static_cast<uInt>(n));
    if (text != nullptr && text->size() <= kMostNamingBytes) text->append(block.data(), static_cast<std::size_t>(n));
  }
  return n == 0 ? std::optional(static_cast<std::uint32_t>(sum)) : std::nullopt;
}

/// When a file came to be what and where it is, in nanoseconds.
std::int64_t changed_at(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return 0;
  return static_cast<std::int64_t>(info.st_ctim.tv_sec) * 1'000'000'000 + info.st_ctim.tv_nsec;
}

std::string hex_of(std::uint32_t sum) {
  Fnv64 out;
  out.add_word(sum);
  return out.hex();
}

bool is_config_file(const std::string& path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

/// Files of configs/<kind> that are found by their names: those of the folder itself. Of other kinds all files below count.
struct FolderKind {
  const char* name;
  bool is_named;
};
constexpr FolderKind kFolderKinds[] = {{"systems", true},    {"devices", true},   {"models", true},
                                       {"frameworks", true}, {"planning", true},  {"collectives", false},
                                       {"curves", false},    {"op_models", false}};

std::set<std::string> files_below(const std::string& folder, bool is_named) {
  std::set<std::string> paths;
  std::error_code error;
  if (is_named) {
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
      if (is_config_file(at->path().string())) paths.insert(at->path().string());
    return paths;
  }
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    paths.insert(at->path().string());
  return paths;
}

/// The files of a kind, folder by folder: of two files of one name the first counts.
std::vector<std::set<std::string>> files_of(const FolderKind& kind, const std::string& experiment_folder) {
  std::vector<std::set<std::string>> out;
  for (const std::string& folder : config::config_folders(kind.name, kind.is_named ? experiment_folder : ""))
    out.push_back(files_below(folder, kind.is_named));
  return out;
}

/// The files that texts name, whether by a path or by a name without any dot or slash, and those that these name in turn. Each
/// is noted as an input (base/file.hpp).
class FileWalk {
 public:
  /// Without `sums` only files of configurations are read.
  FileWalk(const std::string& experiment_folder, bool sums) : sums_(sums) {
    for (const FolderKind& kind : kFolderKinds) {
      if (!kind.is_named) continue;
      for (const auto& paths : files_of(kind, experiment_folder)) {
        for (const std::string& path : paths)
          if (path.find('{', path.rfind('/') + 1) != std::string::npos) templates_.push_back(path);
      }
    }
  }

  void add_tree(const ConfigNode& node) {
    if (node.kind == ConfigNode::Kind::scalar) add_named(node.scalar, config::folder_of_value(node));
    for (const ConfigNode& item : node.items) add_tree(item);
    for (const ConfigNode::Entry& entry : node.entries) {
      if (!config::is_for_people(entry.key)) add_tree(entry.value);
    }
  }

  /// VALUE of a --set: mostly a number or a name, else a text of YAML.
  void add_value(const std::string& value) {
    add_named(value, ".");
    if (value.find_first_of("[{\"'#&!|> \t\n") == std::string::npos) return;
    if (const auto parsed = config::parse_set("value=" + value); parsed.ok()) add_tree(parsed->value);
  }

  /// A file that counts itself, and what it names. Its checksum, where sums are asked for and it can be read.
  std::optional<std::uint32_t> visit(const std::string& path) {
    const bool is_new = seen_.insert(fs::path(path).lexically_normal().string()).second;
    if (is_new) note_input(path);
    const bool is_read = is_new && is_config_file(path);
    if (!is_read && !sums_) return std::nullopt;
    std::string text;
    const std::optional<std::uint32_t> sum = file_sum(path, is_read ? &text : nullptr);
    add_text(text, path);
    return sum;
  }

  /// A fact for each file that is named and can be read.
  void move_facts(Identity& out) const {
    for (const auto& [name, file] : files_)
      out.push_back({std::string(kFileFact) + name, hex_of(file.sum), changed_at(file.path)});
  }

 private:
  void add_text(const std::string& text, const std::string& path) {
    if (text.empty() || text.size() > kMostNamingBytes) return;
    if (const auto tree = parse_yaml(text, path); tree.ok()) add_tree(*tree);
  }

  /// `folder`: of the file that it was written in, or the working directory.
  void add_named(const std::string& name, const std::string& folder) {
    constexpr std::size_t kLongest = 4096;  // of a path
    if (name.empty() || name.size() > kLongest) return;
    const std::string path = (fs::path(folder) / name).lexically_normal().string();
    std::error_code error;
    if (fs::is_regular_file(path, error) && !seen_.contains(path)) {
      if (const auto sum = visit(path)) files_[new_name(name)] = {path, *sum};
    }
    if (!templates_.empty() && name.find_first_of("0123456789") != std::string::npos) add_filled(name);
  }

  /// Of a template the texts that it has for this name.
  void add_filled(const std::string& name) {
    for (const std::string& path : templates_) {
      const auto values = match_template(fs::path(path).stem().string(), name);
      if (!values || !filled_.insert(path + '\0' + name).second) continue;
      std::string text;
      if (!file_sum(path, &text) || !filling_.insert(path).second) continue;  // that names another name of its own
      if (const auto filled = fill_template(text, *values, path); filled.ok()) add_text(*filled, path);
      filling_.erase(path);
    }
  }

  /// As it is written, so that a study may be moved; of several files that are written alike, with a number.
  std::string new_name(const std::string& name) const {
    std::string out = name;
    for (int n = 2; files_.contains(out); ++n) out = name + " (" + std::to_string(n) + ")";
    return out;
  }

  struct NamedFile {
    std::string path;
    std::uint32_t sum = 0;
  };
  const bool sums_;
  std::vector<std::string> templates_;  ///< paths
  std::set<std::string> seen_, filled_,
      filling_;                             ///< paths; of templates with a name; of those whose text is looked through
  std::map<std::string, NamedFile> files_;  ///< by new_name()
};

/// What a text says, wherever it is written.
void add_said(const ConfigNode& node, Fnv64& sum) {
  sum.add_word(static_cast<std::uint64_t>(node.kind));
  sum.add(node.scalar);
  for (const ConfigNode& item : node.items) add_said(item, sum);
  for (const ConfigNode::Entry& entry : node.entries) {
    sum.add(entry.key);
    add_said(entry.value, sum);
  }
}

/// Names and contents, folder by folder.
Fact folders_fact(const FolderKind& kind, const std::string& experiment_folder, FileWalk& walk) {
  Fnv64 sum;
  std::error_code error;
  for (const std::set<std::string>& paths : files_of(kind, experiment_folder)) {
    sum.add("");
    for (const std::string& path : paths) {
      sum.add(fs::path(path).filename().string());
      if (fs::is_regular_file(path, error)) sum.add_word(walk.visit(path).value_or(0));
    }
  }
  return {std::string("configuration files in ") + kind.name, sum.hex(), 0};
}

using FactsByName = std::unordered_map<std::string_view, const Fact*>;

FactsByName by_name(const Identity& facts) {
  FactsByName out;
  for (const Fact& fact : facts) out.emplace(fact.name, &fact);
  return out;
}

const Fact* find_fact(const FactsByName& facts, const std::string& name) {
  const auto it = facts.find(name);
  return it == facts.end() ? nullptr : it->second;
}

/// Of long values, from a little before `differs` on.
std::string value_of(const Fact* fact, std::size_t differs) {
  constexpr std::size_t kMost = 120, kBefore = 30;
  if (fact == nullptr) return "nothing";
  if (fact->value.size() <= kMost || differs <= kBefore) return in_quotes(fact->value, kMost);
  return in_quotes("..." + fact->value.substr(differs - kBefore), kMost);
}

std::size_t first_difference(const Fact* a, const Fact* b) {
  if (a == nullptr || b == nullptr) return 0;
  const auto [at, other] = std::ranges::mismatch(a->value, b->value);
  return static_cast<std::size_t>(at - a->value.begin());
}

std::string say_difference(const std::string& name, const Fact* a, const Fact* b) {
  return printable(name, 200) + ": found " + value_of(a, first_difference(a, b)) + ", expected " +
         value_of(b, first_difference(a, b));
}

}  // namespace

std::string difference(const Identity& found, const Identity& expected) {
  const FactsByName was = by_name(found), is = by_name(expected);
  for (const Fact& fact : expected) {
    const Fact* other = find_fact(was, fact.name);
    if (other == nullptr || *other != fact) return say_difference(fact.name, other, &fact);
  }
  for (const Fact& fact : found) {
    if (find_fact(is, fact.name) == nullptr) return say_difference(fact.name, &fact, nullptr);
  }
  return "";
}

Identity files_since(const Identity& found, const Identity& expected, std::int64_t written_at) {
  const FactsByName was = by_name(found);
  Identity out;
  std::ranges::copy_if(expected, std::back_inserter(out), [&](const Fact& fact) {
    return fact.name.starts_with(kFileFact) && fact.changed_ns >= written_at && find_fact(was, fact.name) == nullptr;
  });
  return out;
}

Fact program_fact() { return {"program of distsim", hex_of(file_sum("/proc/self/exe").value_or(0)), 0}; }

Identity inputs_facts(const ConfigNode& experiment, const std::vector<std::string>& values) {
  const std::string folder = config::folder_of_value(experiment);
  FileWalk walk(folder, true);
  walk.add_tree(experiment);
  std::ranges::for_each(values, [&](const std::string& value) { walk.add_value(value); });
  Fnv64 said;
  add_said(experiment, said);
  Identity out{{"text of the experiment", said.hex(), 0}};
  for (const FolderKind& kind : kFolderKinds) out.push_back(folders_fact(kind, folder, walk));
  walk.move_facts(out);
  return out;
}

void note_named_files(const ConfigNode& experiment, const std::vector<std::string>& values) {
  const std::string folder = config::folder_of_value(experiment);
  FileWalk walk(folder, false);
  walk.add_tree(experiment);
  std::ranges::for_each(values, [&](const std::string& value) { walk.add_value(value); });
  for (const FolderKind& kind : kFolderKinds) {
    if (kind.is_named) (void)folders_fact(kind, folder, walk);
  }
}

}  // namespace distsim::study
