#include "traces/chakra/chakra_manifest.hpp"

#include <zlib.h>

#include <charconv>
#include <filesystem>
#include <set>

#include "base/file.hpp"
#include "base/json/json_text.hpp"
#include "base/system/folder.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"

namespace distsim::traces {
namespace {

constexpr const char* kSchema = "distsim-chakra-set";
constexpr std::size_t kMostManifestBytes = 1 << 16;

/// "run/dlrm" of "run/dlrm.17.et"; empty for other names.
std::string prefix_of(const std::string& path) {
  std::string_view rest = path;
  if (!rest.ends_with(".et")) return "";
  rest.remove_suffix(3);
  const std::size_t dot = rest.find_last_not_of("0123456789");
  const bool ranked = dot != std::string_view::npos && dot + 1 < rest.size() && rest[dot] == '.';
  return ranked ? std::string(rest.substr(0, dot)) : "";
}

std::uint32_t count_in(const nlohmann::json& json, const char* key) {
  const auto it = json.find(key);
  const bool good = it != json.end() && it->is_number_unsigned() && it->get<std::uint64_t>() <= (1u << 24);
  return good ? it->get<std::uint32_t>() : 0;
}

std::string escaped(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

Result<void> check_files(const ChakraManifest& m, const std::string& path, std::size_t files, std::uint32_t copies) {
  if (!m.complete)
    return Error{"found a set that was not written to its end, expected a finished one", printable(path, 300),
                 "write it again with --write-et"};
  if (files == m.ranks || (files == 1 && copies > 1)) return {};
  return Error{"found " + counted(files, "trace") + ", expected the " + std::to_string(m.ranks) + " of this set",
               printable(path, 300),
               files > m.ranks ? "the others are of another job" : "every rank of the job needs its trace"};
}

}  // namespace

void ChakraSetDigest::add(std::string_view bytes) {
  words_.add_word(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  words_.add_word(bytes.size());
}

std::string chakra_manifest_path(const std::string& prefix) { return prefix + ".set.json"; }

std::string to_text(const ChakraManifest& m) {
  const nlohmann::json json{{"schema", kSchema},        {"version", 1},           {"ranks", m.ranks},
                            {"job_ranks", m.job_ranks}, {"complete", m.complete}, {"digest", m.digest}};
  return json_text(json, 2) + "\n";
}

Result<ChakraManifest> read_chakra_manifest(const std::string& path) {
  TRY_ASSIGN(const std::string text, read_file(path, kMostManifestBytes));
  return parse_chakra_manifest(text, path);
}

Result<ChakraManifest> parse_chakra_manifest(std::string_view text, const std::string& path) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  ChakraManifest m;
  const bool ours = json.is_object() && json.value("schema", nlohmann::json()) == kSchema;
  if (ours) {
    m.ranks = count_in(json, "ranks");
    m.job_ranks = count_in(json, "job_ranks");
    m.complete = json.value("complete", nlohmann::json()) == true;
    const auto digest = json.find("digest");
    if (digest != json.end() && digest->is_string()) m.digest = digest->get<std::string>();
  }
  if (m.ranks > 0 && (!m.complete || m.digest.size() == 16)) return m;
  return Error{"found no manifest of a set of traces, expected the one that --write-et wrote", printable(path, 300),
               "write the set again"};
}

std::vector<std::string> other_traces(const std::string& prefix, std::uint32_t ranks) {
  std::vector<std::string> out;
  for (const std::string& path : paths_matching(escaped(prefix) + ".*.et")) {
    if (prefix_of(path) != prefix) continue;
    const std::string digits = path.substr(prefix.size() + 1, path.size() - prefix.size() - 4);
    std::uint64_t rank = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    if (parsed.ec != std::errc() || rank >= ranks || std::to_string(rank) != digits) out.push_back(path);
  }
  return out;
}

Result<ChakraManifest> manifest_beside(const std::vector<std::string>& files, std::uint32_t copies) {
  std::set<std::string> prefixes;
  for (const std::string& file : files) prefixes.insert(prefix_of(file));
  ChakraManifest out;
  for (const std::string& prefix : prefixes) {
    const std::string path = chakra_manifest_path(prefix);
    std::error_code error;
    if (prefix.empty() || !std::filesystem::exists(path, error)) continue;
    TRY_ASSIGN(ChakraManifest m, read_chakra_manifest(path));
    if (prefixes.size() > 1)
      return Error{"found traces of several sets, expected those of this one", printable(path, 300), ""};
    TRY(check_files(m, path, files.size(), copies));
    if (files.size() != m.ranks) m.digest.clear();
    out = std::move(m);
  }
  return out;
}

}  // namespace distsim::traces
