#include "sim/replay/build/null_stream.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace distsim::replay {
namespace {

using traces::StreamKind;

/// Of one context, up to the launch in question.
struct Context {
  std::uint32_t null_record = traces::kNone;     ///< the last one of the NULL stream
  std::map<std::uint32_t, std::uint32_t> since;  ///< by blocking stream: its last record after that one
};

bool waits_for_others(StreamKind kind) { return kind == StreamKind::null_stream || kind == StreamKind::blocking; }

std::vector<std::uint32_t> by_launch(const traces::TraceRank& rank, const DeviceOrder& order) {
  std::vector<std::uint32_t> records;
  for (std::uint32_t r = 0; r < rank.device_records.size(); ++r) {
    if (waits_for_others(rank.streams[rank.device_records[r].stream].kind)) records.push_back(r);
  }
  std::ranges::sort(records, {}, [&](std::uint32_t r) {
    return std::tuple(order.launched_ns(r), rank.device_records[r].start_ns, r);
  });
  return records;
}

}  // namespace

std::vector<StreamWait> null_stream_waits(const traces::TraceRank& rank, const DeviceOrder& order) {
  std::vector<StreamWait> waits;
  if (std::ranges::none_of(rank.streams, [](const auto& s) { return s.kind == StreamKind::null_stream; })) return waits;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Context> contexts;  // by device and context
  for (const std::uint32_t r : by_launch(rank, order)) {
    const traces::DeviceRecord& record = rank.device_records[r];
    const traces::TraceStream& stream = rank.streams[record.stream];
    Context& context = contexts[{stream.device, stream.context}];
    const bool launched = record.launch != traces::kNone;
    if (stream.kind == StreamKind::null_stream) {
      for (const auto& [other, last] : context.since) {
        if (launched) waits.push_back({r, last});
      }
      context.since.clear();
      context.null_record = r;
      continue;
    }
    const bool first = context.since.insert_or_assign(record.stream, r).second;
    if (launched && first && context.null_record != traces::kNone) waits.push_back({r, context.null_record});
  }
  return waits;
}

}  // namespace distsim::replay
