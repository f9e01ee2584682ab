#include "mpi_bench/op/result_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/file.hpp"

namespace distsim::bench {
namespace {

constexpr std::size_t kLargestFile = std::size_t{1} << 30;

bool has_extra(const std::string& family) { return family != "gemm" && family != "recurrent"; }

void append_all(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// Columns up to the latency: they say what was measured.
std::vector<std::string> key_columns(const std::string& family) {
  std::vector<std::string> columns = {"gpu", "op", "pass", "dtype"};
  append_all(columns, shape_columns(family));
  if (has_extra(family)) columns.push_back("extra");
  return columns;
}

std::vector<std::string> key_values(const RunFacts& facts, const OpCase& c) {
  std::vector<std::string> values = {facts.gpu, c.op, c.pass, c.dtype};
  append_all(values, shape_values(c));
  if (has_extra(family_of(c))) values.push_back(extra_value(c));
  return values;
}

std::string key_text(std::vector<std::string> values, const std::string& timing) {
  values.push_back(timing);
  return csv_line(values);
}

std::string real_text(double value, const char* pattern) {
  char text[40];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

}  // namespace

std::vector<std::string> ResultFile::columns(const std::string& family) {
  std::vector<std::string> columns = key_columns(family);
  append_all(columns, {"latency_us", "timing", "framework", "low_us", "high_us", "repetitions", "launches",
                       "relative_error", "sm_clock_mhz", "memory_clock_mhz", "temperature_c", "power_w", "date"});
  return columns;
}

Result<ResultFile> ResultFile::open(const std::string& path, const std::string& family) {
  TRY(check_writable(path));
  ResultFile file(path, family);
  if (!std::filesystem::exists(path)) {
    TRY(write_file_atomically(path, csv_line(columns(family))));
    return file;
  }
  TRY(file.load());
  return file;
}

Result<void> ResultFile::load() {
  TRY_ASSIGN(std::string text, read_file(path_, kLargestFile));
  const std::string header = csv_line(columns(family_));
  const Error foreign{"found other columns than those of op_bench's " + family_ + " file", path_ + ":1",
                      "choose another folder with --out"};
  const std::size_t whole = text.rfind('\n') + 1;  // 0 where there is no line end at all
  if (whole == 0 && !text.empty())
    return header.starts_with(text) ? write_file_atomically(path_, header) : Result<void>(foreign);
  const bool is_cut = whole != text.size();
  text.resize(whole);
  {
    std::istringstream in(text);
    TRY_ASSIGN(CsvReader reader, CsvReader::open(in, path_));
    if (reader.header() != columns(family_)) return foreign;
    TRY(read_keys(reader));
  }
  return is_cut ? write_file_atomically(path_, text) : Result<void>();  // of a file that is ours for certain
}

Result<void> ResultFile::read_keys(CsvReader& reader) {
  const std::size_t key_count = key_columns(family_).size(), timing = *reader.column("timing");
  for (;;) {
    TRY_ASSIGN(const auto row, reader.next());
    if (!row) return {};
    keys_.insert(key_text({row->begin(), row->begin() + static_cast<std::ptrdiff_t>(key_count)}, (*row)[timing]));
  }
}

bool ResultFile::contains(const RunFacts& facts, const OpCase& c) const {
  return keys_.contains(key_text(key_values(facts, c), facts.timing));
}

Result<void> ResultFile::append(const RunFacts& facts, const OpCase& c, const OpResult& r) {
  std::vector<std::string> fields = key_values(facts, c);
  const std::string key = key_text(fields, facts.timing);
  append_all(fields, {real_text(r.latency_us, "%.4g"), facts.timing, facts.framework, real_text(r.low_us, "%.4g"),
                      real_text(r.high_us, "%.4g"), std::to_string(r.repetitions), std::to_string(r.launches),
                      real_text(r.relative_error, "%.2g"), r.state.sm_clock_mhz, r.state.memory_clock_mhz,
                      r.state.temperature_c, r.state.power_w, facts.date});
  std::ofstream out(path_, std::ios::binary | std::ios::app);
  out << csv_line(fields);
  out.close();
  if (!out) return Error{std::string("cannot be written: ") + std::strerror(errno), path_, ""};
  keys_.insert(key);
  return {};
}

}  // namespace distsim::bench
