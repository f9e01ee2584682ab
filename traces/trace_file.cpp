#include "traces/trace_file.hpp"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/text/printable.hpp"
#include "traces/files/json_stream.hpp"
#include "traces/files/zip_member.hpp"

namespace distsim::traces {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHead = std::size_t{1} << 18;
constexpr std::uint64_t kLargestPipe = std::uint64_t{4} << 30;
constexpr std::size_t kMostFiles = 1 << 16;

bool has_suffix(const std::string& name, std::initializer_list<std::string_view> suffixes) {
  return std::ranges::any_of(suffixes, [&](std::string_view s) { return name.ends_with(s); });
}

bool trace_name(const std::string& name) {
  return !name.starts_with(".") && has_suffix(name, {".json", ".gz", ".zip", ".csv", ".et", ".sqlite", ".db"});
}

Result<std::vector<std::string>> files_of_folder(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored) && trace_name(at->path().filename().string())) out.push_back(at->path().string());
    if (out.size() > kMostFiles)
      return Error{"found more than 65536 trace files, expected the ranks of one job", folder, ""};
  }
  if (error) return Error{"cannot be listed: " + error.message(), folder, ""};
  if (out.empty())
    return Error{"found no trace in the folder, expected files that end in .json, .json.gz, .zip, .csv, .et or .sqlite",
                 folder, ""};
  std::ranges::sort(out);
  return out;
}

Result<std::vector<std::string>> files_of_pattern(const std::string& pattern) {
  glob_t found{};
  const int code = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> out;
  for (std::size_t i = 0; code == 0 && i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  if (out.empty()) return Error{"found no file that matches the pattern", in_quotes(pattern, 200), ""};
  return out;
}

/// The first key at the top level that tells the format.
class KeySniffer : public JsonHandler {
 public:
  Want on_key(std::string_view key) override {
    if (key.empty()) bare = true;
    keys.insert(std::string(key));
    return Want::skip;
  }
  Result<void> on_value(std::string_view, std::string_view) override { return {}; }
  Result<void> on_elements(JsonBatch&) override { return {}; }
  std::set<std::string> keys;
  bool bare = false;
};

TraceFormat sniff_json(std::string_view head) {
  KeySniffer sniffer;
  const std::unique_ptr<ByteSource> source = from_memory(std::make_shared<const std::string>(head));
  (void)stream_json(*source, "", head.size(), head.size() * 2,
                    sniffer);  // a head that is cut, or not JSON after all, still has its first keys
  const auto has = [&](const char* key) { return sniffer.keys.contains(key); };
  if (sniffer.bare)
    return head.find("\"ph\"") != std::string_view::npos ||
                   head.find_first_not_of(" \t\r\n[]") == std::string_view::npos
               ? TraceFormat::kineto
               : TraceFormat::other_json;
  if (has("traceEvents")) return TraceFormat::kineto;
  if (has("workload_graph")) return TraceFormat::chakra_json;
  if (has("nodes") && (has("schema") || has("pid") || has("start_ts"))) return TraceFormat::execution_trace;
  if (has("events") && (has("host_name") || has("iter_time_ms") || has("runtime_data")))
    return TraceFormat::hugectr_profile;
  if (has("host_name") && has("iter_time_ms")) return TraceFormat::hugectr_profile;
  if (has("events") && head.find("\"measured_times_ms\"") != std::string_view::npos)
    return TraceFormat::hugectr_profile;  // its other keys come after the events
  if (has("schemaVersion") || has("deviceProperties") || has("distributedInfo") || has("baseTimeNanoseconds"))
    return TraceFormat::kineto;  // events further down
  if (has("schema")) return TraceFormat::execution_trace;
  return TraceFormat::other_json;
}

/// A bracket and what may follow one. A Chakra message may begin with the same byte, as its length, but not go on like
/// that.
bool looks_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (text[first] != '{' && text[first] != '[')) return false;
  const std::size_t second = text.find_first_not_of(" \t\r\n", first + 1);
  return second == std::string_view::npos || text[second] == '"' || text[second] == '}' ||
         (text[first] == '[' && text[second] != 0x0a && text[second] != 0x12);
}

/// A length-prefixed protobuf message that starts with a string or message field.
bool looks_like_chakra(std::string_view head, const std::string& path) {
  std::size_t at = 0, size = 0;
  for (int shift = 0; at < head.size() && at < 5; shift += 7) {
    const auto byte = static_cast<unsigned char>(head[at++]);
    size |= static_cast<std::size_t>(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) break;
  }
  if (size < 2 || at + 1 >= head.size()) return false;
  const char tag = head[at];
  const bool named = path.find(".et") != std::string::npos;
  return (tag == 0x0a || tag == 0x12 || tag == 0x08) &&
         (named || head.substr(0, 4096).find("schema") != std::string_view::npos);
}

bool looks_like_gputrace(std::string_view head) {
  for (std::size_t begin = 0, lines = 0; begin < head.size() && lines < 64; ++lines) {
    const std::size_t end = std::min(head.find('\n', begin), head.size());
    const std::string_view line = head.substr(begin, end - begin);
    if (line.find("Start") != std::string_view::npos && line.find("Duration") != std::string_view::npos &&
        line.find("Name") != std::string_view::npos && line.find(',') != std::string_view::npos) {
      return true;
    }
    begin = end + 1;
  }
  return false;
}

Error refusal(const std::string& what, const std::string& path, const std::string& hint) {
  return Error{"found " + what + ", expected a trace", path, hint};
}

using Opener = std::function<Result<std::unique_ptr<ByteSource>>()>;

/// The traces in what `open` gives; `plain_path` as in TraceFile.
Result<std::vector<TraceFile>> traces_in(const Opener& open, const std::string& path, const std::string& plain_path,
                                         const TraceOptions& options) {
  TRY_ASSIGN(const std::unique_ptr<ByteSource> file, open());
  std::string head(512, '\0');
  TRY_ASSIGN(const std::size_t n, read_fully(*file, head.data(), head.size()));
  head.resize(n);
  if (head.empty()) return Error{"found an empty file, expected a trace", path, ""};
  const ExpansionLimit limit{options.max_expansion, options.max_bytes};
  if (head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06"))
    return plain_path.empty()
               ? Result<std::vector<TraceFile>>(refusal("a zip archive in a pipe", path, "pass the file itself"))
               : open_zip(path, limit);
  if (head.starts_with("\x28\xB5\x2F\xFD")) return refusal("zstd data", path, "unpack it with zstd -d");
  if (head.starts_with("BZh")) return refusal("bzip2 data", path, "unpack it with bunzip2");
  if (head.starts_with("\xFD"
                       "7zXZ"))
    return refusal("xz data", path, "unpack it with unxz");
  if (path.ends_with(".nsys-rep") || path.ends_with(".qdrep"))
    return refusal("an Nsight Systems report, which only nsys can read", path, "run `nsys export --type sqlite` on it");
  if (head.starts_with("\x1f\x8b")) {
    return std::vector<TraceFile>{{path,
                                   [open, path, limit]() -> Result<std::unique_ptr<ByteSource>> {
                                     TRY_ASSIGN(std::unique_ptr<ByteSource> packed, open());
                                     return expand_gzip(std::move(packed), path, limit);
                                   },
                                   ""}};
  }
  return std::vector<TraceFile>{{path, open, plain_path}};
}

}  // namespace

std::string_view name_of(TraceFormat format) {
  switch (format) {
    case TraceFormat::kineto:
      return "PyTorch Kineto JSON";
    case TraceFormat::execution_trace:
      return "PyTorch execution trace";
    case TraceFormat::chakra:
      return "Chakra execution trace";
    case TraceFormat::chakra_json:
      return "Chakra execution trace as JSON";
    case TraceFormat::nsys_sqlite:
      return "Nsight Systems SQLite";
    case TraceFormat::gputrace_csv:
      return "nsys gputrace CSV";
    case TraceFormat::hugectr_profile:
      return "HugeCTR prof.json";
    case TraceFormat::other_json:
      return "other JSON";
    case TraceFormat::unknown:
      return "unknown";
  }
  return "?";
}

Result<std::vector<std::string>> expand_paths(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    std::vector<std::string> files;
    std::error_code error;
    if (path.empty()) return Error{"found an empty file name, expected a trace", "", ""};
    if (fs::is_directory(path, error)) {
      TRY_ASSIGN(files, files_of_folder(path));
    } else if (!fs::exists(path, error) && path.find_first_of("*?[") != std::string::npos) {
      TRY_ASSIGN(files, files_of_pattern(path));
    } else {
      files = {path};
    }
    for (std::string& f : files) {
      if (seen.insert(f).second) out.push_back(std::move(f));
    }
  }
  return out;
}

TraceFormat sniff(std::string_view head, const std::string& path) {
  if (head.starts_with("SQLite format 3")) return TraceFormat::nsys_sqlite;
  std::string_view text = head;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (looks_like_json(text)) return sniff_json(text);
  if (looks_like_chakra(head, path)) return TraceFormat::chakra;
  if (looks_like_gputrace(text)) return TraceFormat::gputrace_csv;
  return TraceFormat::unknown;
}

Result<TraceFormat> sniff(const TraceFile& file) {
  TRY_ASSIGN(const std::unique_ptr<ByteSource> source, file.open());
  std::string head(kHead, '\0');
  TRY_ASSIGN(const std::size_t n, read_fully(*source, head.data(), head.size()));
  head.resize(n);
  if (head.empty()) return Error{"found an empty file, expected a trace", file.path, ""};
  if (head.starts_with("\x1f\x8b") || head.starts_with("PK\x03\x04"))
    return refusal("an archive inside an archive", file.path, "unpack the outer one first");
  if (head.size() > 262 && head.compare(257, 5, "ustar") == 0)
    return refusal("a tar archive", file.path, "unpack it and pass its folder");
  return sniff(head, file.path);
}

Result<std::vector<TraceFile>> open_trace_file(const std::string& path, const TraceOptions& options) {
  const Opener opener = [path] { return open_plain(path); };
  std::error_code error;
  if (fs::is_character_file(path, error) || fs::is_block_file(path, error))
    return Error{"found a device, expected a trace", path, ""};
  if (fs::is_fifo(path, error) || fs::is_socket(path, error)) {  // can be read once, but is looked at twice
    TRY_ASSIGN(const std::unique_ptr<ByteSource> pipe, opener());
    TRY_ASSIGN(std::string text, read_all(*pipe, path, std::min(options.max_bytes, kLargestPipe)));
    return traces_in([text = std::make_shared<const std::string>(
                          std::move(text))]() -> Result<std::unique_ptr<ByteSource>> { return from_memory(text); },
                     path, "", options);
  }
  return traces_in(opener, path, path, options);
}

}  // namespace distsim::traces
