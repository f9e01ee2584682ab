#include "traces/trace_formats.hpp"

#include "traces/graph/et_reader.hpp"
#include "traces/hugectr/hugectr_reader.hpp"
#include "traces/nsight/gputrace_reader.hpp"
#include "traces/nsight/nsys_reader.hpp"

namespace distsim::traces {
namespace {

using StreamReader = Result<ReadRank> (*)(ByteSource&, const std::string&, const TraceOptions&, TraceJob&);

/// A format whose files hold one rank and are read as a stream.
template <StreamReader kRead>
Result<std::vector<ReadRank>> one_rank(const TraceFile& file, const TraceOptions& options, TraceJob& job) {
  TRY_ASSIGN(const std::unique_ptr<ByteSource> source, file.open());
  TRY_ASSIGN(ReadRank rank, kRead(*source, file.path, options, job));
  std::vector<ReadRank> out;
  out.push_back(std::move(rank));
  return out;
}

Error refusal(TraceFormat format, const std::string& path) {
  const std::string expected = ", expected a PyTorch, Nsight Systems or HugeCTR trace";
  switch (format) {
    case TraceFormat::chakra:
      return Error{"found a Chakra execution trace" + expected, path, "play it with `distsim replay`"};
    case TraceFormat::chakra_json:
      return Error{"found Chakra nodes as JSON (an example format without a schema)" + expected, path,
                   "convert it to .et"};
    case TraceFormat::other_json:
      return Error{"found JSON without traceEvents, nodes or events" + expected, path, ""};
    default:
      return Error{"found no known trace format" + expected, path, ""};
  }
}

}  // namespace

const std::vector<TraceReader>& trace_readers() {
  static const std::vector<TraceReader> readers{
      {TraceFormat::kineto, "PyTorch profiler (Kineto) JSON, plain, .gz or .zip; NVIDIA, ROCm, CPU",
       one_rank<read_kineto>},
      {TraceFormat::execution_trace,
       "PyTorch execution trace (schemas 1.0.1 to 1.1.1); adds shapes and collectives to a Kineto trace of the same rank",
       one_rank<read_execution_trace>},
      {TraceFormat::nsys_sqlite, "Nsight Systems, `nsys export --type sqlite` (schemas 3.20 to 3.25)", read_nsys},
      {TraceFormat::gputrace_csv, "Nsight Systems, `nsys stats -r cuda_gpu_trace -f csv`", read_gputrace},
      {TraceFormat::hugectr_profile, "HugeCTR's inline profiler, <host>.prof.json of both generations", read_hugectr},
  };
  return readers;
}

Result<std::vector<ReadRank>> read_trace_file(const TraceFile& file, const TraceOptions& options, TraceJob& job) {
  TRY_ASSIGN(const TraceFormat format, sniff(file));
  for (const TraceReader& reader : trace_readers()) {
    if (reader.format == format) return reader.read(file, options, job);
  }
  return refusal(format, file.path);
}

}  // namespace distsim::traces
