// Without libFuzzer: every target plays its seeds, then edits of them (bytes flipped, cut, doubled, taken from another
// seed, numbers at their limits) that follow from one seed of chance, for a number of seconds.
//   test_fuzz SECONDS ROOT [TARGET...]      seeds are what seeds.txt lists and the files of corpus/TARGET
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/file.hpp"
#include "base/random.hpp"
#include "fuzz_target.hpp"
#include "sanitizers.hpp"

namespace distsim::fuzz {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kLargest = std::size_t{1} << 16;
constexpr long kMostMemory = 512l << 10;  // KiB; what no reader may need for 64 KiB

struct Entry {
  std::string name;
  Target target;
};
std::vector<Entry>& entries() {
  static std::vector<Entry> all;
  return all;
}

/// A file, or the files of a folder, sorted.
std::vector<std::string> files_at(const std::string& path) {
  std::error_code absent;
  if (fs::is_regular_file(path, absent)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(path, absent)) {
    if (entry.is_regular_file(absent)) files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> seeds_of(const std::string& target, const std::string& root) {
  std::vector<std::string> paths, seeds;
  std::ifstream list(root + "/tests/fuzz/seeds.txt");
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    std::string name, path;
    if (words >> name >> path && name == target) paths.push_back(root + "/" + path);
  }
  paths.push_back(root + "/tests/fuzz/corpus/" + target);
  for (const std::string& path : paths) {
    for (const std::string& file : files_at(path)) seeds.push_back(*read_file(file, std::size_t{1} << 20));
  }
  CHECK(!seeds.empty()) << "no seeds for " << target;
  return seeds;
}

class Editor {
 public:
  explicit Editor(const std::vector<std::string>& seeds) : seeds_(seeds) {}

  std::string next() {
    std::string text = any().substr(0, kLargest);
    for (std::uint64_t edits = 1 + random_.below(6); edits > 0; --edits) edit(text);
    text.resize(std::min(text.size(), kLargest));
    return text;
  }

 private:
  const std::string& any() { return seeds_[random_.below(seeds_.size())]; }
  std::string word() {
    static const std::vector<std::string> words{"0",
                                                "-1",
                                                "1e308",
                                                "1e-320",
                                                "nan",
                                                "inf",
                                                "18446744073709551616",
                                                "-9223372036854775808",
                                                "4294967296",
                                                "\n",
                                                ",",
                                                "\"",
                                                "'",
                                                ": ",
                                                "- ",
                                                "{",
                                                "}",
                                                "[",
                                                "]",
                                                "\t",
                                                "#",
                                                "\\",
                                                "\xff",
                                                "\x1b",
                                                "=",
                                                "  ",
                                                "../",
                                                "\r\n",
                                                std::string(1, 0)};
    return words[random_.below(words.size())];
  }
  std::string part_of(const std::string& text) {
    return text.substr(random_.below(text.size() + 1), random_.below(400));
  }
  void edit(std::string& text) {
    const std::size_t at = random_.below(text.size() + 1);
    switch (random_.below(8)) {
      case 0:
        text.insert(at, word());
        break;
      case 1:
        text.erase(at, 1 + random_.below(8));
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ 1 << random_.below(8));
        break;
      case 3:
        text.resize(at);
        break;
      case 4:
        text.insert(at, text.substr(random_.below(text.size() + 1), random_.below(200)));
        break;
      case 5:
        text.insert(at, part_of(any()));
        break;
      case 6:
        text.replace(at, random_.below(12), word());
        break;
      default:
        replace_number(text, at);
    }
  }
  void replace_number(std::string& text, std::size_t at) {
    const std::size_t begin = std::min(text.find_first_of("0123456789", at), text.size());
    const std::size_t end = std::min(text.find_first_not_of("0123456789.", begin), text.size());
    text.replace(begin, end - begin, word());
  }

  const std::vector<std::string>& seeds_;
  Random random_{2026};
};

/// Where a crash leaves its input.
void keep(const std::string& text) { std::ofstream("fuzz_last_input", std::ios::binary) << text; }

void play(const Entry& entry, double seconds, const std::string& root) {
  const std::vector<std::string> seeds = seeds_of(entry.name, root);
  for (const std::string& seed : seeds) entry.target(seed);
  Editor editor(seeds);
  const bool keeps = std::getenv("DISTSIM_FUZZ_KEEP") != nullptr;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::size_t runs = 0;
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    const std::string text = editor.next();
    if (keeps) keep(text);
    entry.target(text);
  }
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  std::printf("%-12s %zu seeds, %zu edits, %ld MiB\n", entry.name.c_str(), seeds.size(), runs, used.ru_maxrss >> 10);
  CHECK(test::has_address_sanitizer() || used.ru_maxrss < kMostMemory)  // the sanitizer keeps freed memory
      << entry.name << " needs " << used.ru_maxrss << " KiB";
}

}  // namespace

bool enter(const char* name, Target target) {
  entries().push_back({name, target});
  return true;
}

int run(int argc, char** argv) {
  CHECK(argc >= 3) << "usage: test_fuzz SECONDS ROOT [TARGET...]";
  std::ranges::sort(entries(), {}, &Entry::name);
  for (const Entry& entry : entries()) {
    const bool asked = std::any_of(argv + 3, argv + argc, [&](const char* name) { return entry.name == name; });
    if (argc == 3 || asked) play(entry, std::atof(argv[1]), argv[2]);
  }
  return 0;
}

}  // namespace distsim::fuzz

int main(int argc, char** argv) { return distsim::fuzz::run(argc, argv); }
