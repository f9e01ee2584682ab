#include "traces/trace_file.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/file.hpp"
#include "base/system/folder.hpp"
#include "base/text/printable.hpp"
#include "traces/files/zip_member.hpp"
#include "traces/registry.hpp"

namespace distsim::traces {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestPipe = std::uint64_t{4} << 30;
constexpr std::size_t kMostFiles = 1 << 16;

/// Of the files that are taken from a folder: those of the formats, then packed ones.
std::vector<std::string_view> extensions() {
  std::vector<std::string_view> out;
  for (const TraceFormat* format : trace_formats()) {
    for (const std::string_view e : format->extensions) {
      if (!e.empty() && std::ranges::find(out, e) == out.end()) out.push_back(e);
    }
  }
  out.insert(out.end(), {".gz", ".zip"});
  return out;
}

bool trace_name(std::string_view name) {
  return !name.starts_with(".") && std::ranges::any_of(extensions(), [&](auto e) { return name.ends_with(e); });
}

Error no_trace_in(const std::string& folder) {
  std::string list;
  for (const std::string_view e : extensions()) list.append(list.empty() ? "" : ", ").append(e);
  return Error{"found no trace in the folder, expected files with one of the extensions " + list, folder, ""};
}

Result<std::vector<std::string>> files_of_folder(const std::string& folder) {
  std::vector<std::string> out;
  const auto [names, error] = list_folder(folder);
  for (const std::string& name : names) {
    std::error_code ignored;
    const fs::path path = fs::path(folder) / name;
    if (trace_name(name) && fs::is_regular_file(path, ignored)) out.push_back(path.string());
    if (out.size() > kMostFiles)
      return Error{"found more than 65536 trace files, expected the ranks of one job", folder, ""};
  }
  if (error) return Error{"cannot be listed: " + error.message(), folder, ""};
  if (out.empty()) return no_trace_in(folder);
  return out;
}

/// Of a pattern whose folder is none.
void note_pattern(const std::string& pattern) {
  const std::size_t name = pattern.rfind('/') + 1;  // npos + 1 is 0
  const std::string folder = name == 0 ? "." : pattern.substr(0, name);
  if (folder.find_first_of("*?[") != std::string::npos) return;
  note_input_folder(folder, [of_name = pattern.substr(name)](std::string_view given) {
    return ::fnmatch(of_name.c_str(), std::string(given).c_str(), FNM_PERIOD) == 0;
  });
}

Result<std::vector<std::string>> files_of_pattern(const std::string& pattern) {
  std::vector<std::string> out = paths_matching(pattern);
  if (out.empty()) return Error{in_quotes(pattern, 200) + ": found no file that matches the pattern", "", ""};
  return out;
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
    const auto end = std::make_shared<PackedEnd>();
    const Opener expanded = [open, path, limit, end]() -> Result<std::unique_ptr<ByteSource>> {
      TRY_ASSIGN(std::unique_ptr<ByteSource> packed, open());
      return expand_gzip(std::move(packed), path, limit, end);
    };
    return std::vector<TraceFile>{{path, expanded, "", end}};
  }
  return std::vector<TraceFile>{{path, open, plain_path, nullptr}};
}

bool is_pattern(const std::string& path) {
  std::error_code error;
  return !fs::exists(path, error) && path.find_first_of("*?[") != std::string::npos;
}

}  // namespace

void note_folders(const std::vector<std::string>& paths) {
  std::error_code error;
  for (const std::string& path : paths) {
    if (fs::is_directory(path, error))
      note_input_folder(path, trace_name);
    else if (is_pattern(path))
      note_pattern(path);
  }
}

Result<std::vector<std::string>> expand_paths(const std::vector<std::string>& paths) {
  note_folders(paths);
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    std::vector<std::string> files;
    std::error_code error;
    if (path.empty()) return Error{"found an empty file name, expected a trace", "", ""};
    if (fs::is_directory(path, error)) {
      TRY_ASSIGN(files, files_of_folder(path));
    } else if (is_pattern(path)) {
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

Result<void> refuse_container(std::string_view head, const std::string& path) {
  if (head.empty()) return Error{"found an empty file, expected a trace", path, ""};
  if (head.starts_with("\x1f\x8b") || head.starts_with("PK\x03\x04"))
    return refusal("an archive inside an archive", path, "unpack the outer one first");
  if (head.size() > 262 && head.compare(257, 5, "ustar") == 0)
    return refusal("a tar archive", path, "unpack it and pass its folder");
  return {};
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

Result<SqliteDb> open_sqlite(const TraceFile& file, const TraceOptions& options) {
  constexpr std::uint64_t kInMemory = std::uint64_t{4} << 30;  // bytes
  if (!file.plain_path.empty()) return SqliteDb::open(file.plain_path);
  TRY_ASSIGN(const std::unique_ptr<ByteSource> source, file.open());
  TRY_ASSIGN(const std::string bytes,
             read_all(*source, file.path, std::min({options.max_bytes, options.max_whole, kInMemory})));
  return SqliteDb::from_bytes(bytes, file.path);
}

}  // namespace distsim::traces
