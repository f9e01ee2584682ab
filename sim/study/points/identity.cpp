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

namespace distsim::study {
namespace {

namespace fs = std::filesystem;

/// CRC-32 of a file; 0 where it cannot be read.
std::uint32_t file_sum(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::array<unsigned char, 1 << 16> block;
  uLong sum = 0;
  for (ssize_t n = 0; file.valid() && (n = ::read(file.get(), block.data(), block.size())) > 0;)
    sum = ::crc32(sum, block.data(), static_cast<uInt>(n));
  return static_cast<std::uint32_t>(sum);
}

void add_file(Fnv64& sum, const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return;
  sum.add_word(file_sum(path));
}

/// A value may name a file: from the folder of the file that it was written in, or from the working directory.
void add_named(Fnv64& sum, const ConfigNode& node) {
  if (node.scalar.find_first_of("./") == std::string::npos || node.scalar.size() > 4096) return;
  add_file(sum, node.scalar);
  add_file(sum, (fs::path(config::folder_of_value(node)) / node.scalar).string());
}

void add_tree(Fnv64& sum, const ConfigNode& node) {
  sum.add_word(static_cast<std::uint64_t>(node.kind));
  sum.add(node.scalar);
  if (node.kind == ConfigNode::Kind::scalar) add_named(sum, node);
  for (const ConfigNode& item : node.items) add_tree(sum, item);
  for (const ConfigNode::Entry& entry : node.entries) {
    sum.add(entry.key);
    add_tree(sum, entry.value);
  }
}

/// Names and contents of all files below a folder, sorted.
void add_folder(Fnv64& sum, const std::string& folder) {
  std::set<std::string> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    paths.insert(at->path().string());
  for (const std::string& path : paths) {
    sum.add(fs::path(path).filename().string());
    add_file(sum, path);
  }
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

Fact inputs_fact(const std::vector<ConfigNode>& merged) {
  Fnv64 sum;
  for (const ConfigNode& tree : merged) add_tree(sum, tree);
  for (const char* kind : {"curves", "op_models", "collectives"}) {
    for (const std::string& folder : config::config_folders(kind, "")) add_folder(sum, folder);
  }
  return {"configuration files", sum.hex()};
}

}  // namespace distsim::study
