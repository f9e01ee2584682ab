#include "traces/registry.hpp"

#include <algorithm>

#include "base/text/counted.hpp"
#include "base/text/one_of.hpp"
#include "traces/chakra/chakra_reader.hpp"
#include "traces/graph/et_reader.hpp"
#include "traces/hugectr/hugectr_reader.hpp"
#include "traces/kineto/kineto_reader.hpp"
#include "traces/nsight/gputrace_reader.hpp"
#include "traces/nsight/nsys_reader.hpp"
#include "traces/nvprof/nvprof_csv.hpp"
#include "traces/nvprof/nvprof_reader.hpp"

namespace distsim::traces {
namespace {

constexpr const TraceFormat* kFormats[] = {
    &kKineto,           //
    &kExecutionTrace,   //
    &kNsysSqlite,       //
    &kGputraceCsv,      //
    &kNvprofSqlite,     //
    &kNvprofCsv,        //
    &kHugectrProfile,   //
    &kChakraExecution,  //
};

constexpr bool complete(const TraceFormat& f) {
  return !f.name.empty() && f.extensions[0].starts_with('.') && !f.sentence.empty() && f.sniff != nullptr;
}
constexpr bool names_differ() {
  for (const TraceFormat* a : kFormats) {
    for (const TraceFormat* b : kFormats) {
      if (a != b && a->name == b->name) return false;
    }
  }
  return true;
}
static_assert(std::ranges::all_of(kFormats, [](const TraceFormat* f) { return complete(*f); }),
              "a format has a name, an extension, a sentence and a sniffer");
static_assert(std::ranges::all_of(kFormats, [](const TraceFormat* f) { return !f->read != !f->read_graph; }),
              "a format is read as measured ranks or as a graph");
static_assert(names_differ(), "two formats have one name");

constexpr std::size_t kHeadBytes = std::size_t{1} << 18;

/// "PyTorch Kineto JSON, Nsight Systems SQLite or HugeCTR prof.json": the formats with measured ranks.
std::string measured_formats() {
  std::vector<std::string_view> names;
  for (const TraceFormat* f : kFormats) {
    if (f->read != nullptr) names.push_back(f->name);
  }
  return one_of(names);
}

Result<std::string> head_of(const TraceFile& file) {
  TRY_ASSIGN(const std::unique_ptr<ByteSource> source, file.open());
  std::string head(kHeadBytes, '\0');
  TRY_ASSIGN(const std::size_t n, read_fully(*source, head.data(), head.size()));
  head.resize(n);
  return head;
}

/// What of a packed file the reader of its text did not see.
void note_end(const TraceFile& file, TraceNotes& notes) {
  if (file.packed_end == nullptr) return;
  if (file.packed_end->damaged) notes.assume("its packed data are damaged; what follows the damage cannot be unpacked");
  if (file.packed_end->altered)
    notes.miss("the contents as they were written: the checksum of its packed data is of others");
  if (file.packed_end->cut) notes.miss("the rest of a file that is cut off");
  if (file.packed_end->behind > 0)
    notes.miss("the " + counted(file.packed_end->behind, "byte") + " behind its gzip data");
}

}  // namespace

std::span<const TraceFormat* const> trace_formats() { return kFormats; }

const TraceFormat* format_of(const TraceHead& head) {
  const auto found = std::ranges::find_if(kFormats, [&](const TraceFormat* f) { return f->sniff(head); });
  return found == std::end(kFormats) ? nullptr : *found;
}

Result<const TraceFormat*> format_of(const TraceFile& file) {
  TRY_ASSIGN(const std::string bytes, head_of(file));
  TRY(refuse_container(bytes, file.path));
  const TraceHead head = look_at(bytes);
  if (const TraceFormat* format = format_of(head)) return format;
  return Error{std::string(head.json == TraceHead::Json::none ? "found no known trace format"
                                                              : "found JSON of no known trace format") +
                   ", expected " + measured_formats(),
               file.path, ""};
}

Result<std::vector<ReadRank>> read_trace_file(const TraceFile& file, const TraceOptions& options, TraceJob& job) {
  TRY_ASSIGN(const TraceFormat* format, format_of(file));
  if (format->read != nullptr) {
    TRY_ASSIGN(std::vector<ReadRank> ranks, format->read(file, options, job));
    for (ReadRank& r : ranks) note_end(file, r.rank.notes);
    return ranks;
  }
  return Error{"found " + std::string(format->name) + ", expected " + measured_formats(), file.path,
               "play it with `distsim replay`"};
}

}  // namespace distsim::traces
