#include "sim/study/points/identity.hpp"

#include <fcntl.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "base/fnv.hpp"
#include "base/system/descriptor.hpp"
#include "base/text/printable.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/config/variants.hpp"

namespace distsim::study {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNamingBytes = 1 << 20;  // of a file of configurations, as config_folders.hpp reads them

/// CRC-32 of a file; 0 where it cannot be read. `text`: where its first bytes go, up to one more than kMostNamingBytes.
std::uint32_t file_sum(const std::string& path, std::string* text = nullptr) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::array<char, 1 << 16> block;
  uLong sum = 0;
  for (ssize_t n = 0; file.valid() && (n = ::read(file.get(), block.data(), block.size())) > 0;) {
    sum = ::crc32(sum, reinterpret_cast<const Bytef*>(block.data()), static_cast<uInt>(n));
    if (text != nullptr && text->size() <= kMostNamingBytes) text->append(block.data(), static_cast<std::size_t>(n));
  }
  return static_cast<std::uint32_t>(sum);
}

bool is_config_file(const std::string& path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

/// Texts, and the contents of all files that they name, whether by a path or by a name without any dot or slash.
class FileSum {
 public:
  void add_tree(const ConfigNode& node) {
    sum_.add_word(static_cast<std::uint64_t>(node.kind));
    sum_.add(node.scalar);
    if (node.kind == ConfigNode::Kind::scalar) add_named(node.scalar, config::folder_of_value(node));
    for (const ConfigNode& item : node.items) add_tree(item);
    for (const ConfigNode::Entry& entry : node.entries) {
      sum_.add(entry.key);
      add_tree(entry.value);
    }
  }

  /// VALUE of a --set: mostly a number or a name, else a text of YAML.
  void add_value(const std::string& value) {
    sum_.add(value);
    add_named(value, ".");
    if (value.find_first_of("[{\"'#&!|> \t\n") == std::string::npos) return;
    if (const auto parsed = config::parse_set("value=" + value); parsed.ok()) add_tree(parsed->value);
  }

  /// What a file of configurations names counts, too.
  void add_file(const std::string& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return;
    if (!seen_.insert(fs::path(path).lexically_normal().string()).second) return;
    std::string text;
    sum_.add_word(file_sum(path, is_config_file(path) ? &text : nullptr));
    if (text.empty() || text.size() > kMostNamingBytes) return;
    if (const auto tree = parse_yaml(text, path); tree.ok()) add_tree(*tree);
  }

  void add_name(const std::string& name) { sum_.add(name); }
  std::string hex() const { return sum_.hex(); }

 private:
  /// From the folder of the file that it was written in, or from the working directory.
  void add_named(const std::string& name, const std::string& folder) {
    constexpr std::size_t kLongest = 4096;  // of a path
    if (name.empty() || name.size() > kLongest) return;
    add_file(name);
    if (folder != ".") add_file((fs::path(folder) / name).string());
  }

  Fnv64 sum_;
  std::set<std::string> seen_;
};

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

/// Names and contents, folder by folder: of two files of one name the first counts.
Fact folders_fact(const FolderKind& kind, const std::string& experiment_folder) {
  FileSum sum;
  for (const std::string& folder : config::config_folders(kind.name, kind.is_named ? experiment_folder : "")) {
    sum.add_name("");
    for (const std::string& path : files_below(folder, kind.is_named)) {
      sum.add_name(fs::path(path).filename().string());
      sum.add_file(path);
    }
  }
  return {std::string("configuration files in ") + kind.name, sum.hex()};
}

const Fact* find_fact(const Identity& facts, const std::string& name) {
  const auto it = std::ranges::find(facts, name, &Fact::name);
  return it == facts.end() ? nullptr : &*it;
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

}  // namespace

std::string difference(const Identity& found, const Identity& expected) {
  if (found == expected) return "";
  const auto say = [](const std::string& name, const Fact* a, const Fact* b) {
    return printable(name, 80) + ": found " + value_of(a, first_difference(a, b)) + ", expected " +
           value_of(b, first_difference(a, b));
  };
  for (const Fact& fact : expected) {
    const Fact* other = find_fact(found, fact.name);
    if (other == nullptr || *other != fact) return say(fact.name, other, &fact);
  }
  for (const Fact& fact : found) {
    if (find_fact(expected, fact.name) == nullptr) return say(fact.name, &fact, nullptr);
  }
  return "the order of its facts";
}

Fact program_fact() {
  Fnv64 sum;
  sum.add_word(file_sum("/proc/self/exe"));
  return {"program of distsim", sum.hex()};
}

Identity inputs_facts(const ConfigNode& experiment, const std::vector<std::string>& values) {
  FileSum sum;
  sum.add_tree(experiment);
  for (const std::string& value : values) sum.add_value(value);
  Identity out{{"configuration files", sum.hex()}};
  for (const FolderKind& kind : kFolderKinds) out.push_back(folders_fact(kind, config::folder_of_value(experiment)));
  return out;
}

}  // namespace distsim::study
