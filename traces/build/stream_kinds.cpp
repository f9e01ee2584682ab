#include "traces/build/stream_kinds.hpp"

namespace distsim::traces {
namespace {

StreamKind stream_kind(std::int64_t flag) {
  switch (flag) {
    case 1:
      return StreamKind::blocking;
    case 2:
      return StreamKind::non_blocking;
    case 3:
      return StreamKind::null_stream;
    default:
      return StreamKind::unknown;
  }
}

}  // namespace

void StreamKinds::add(std::uint64_t process, std::uint64_t context, std::uint64_t stream, std::int64_t flag) {
  kinds_[{process, context, stream}] = stream_kind(flag);
}

void StreamKinds::set(TraceRank& rank, std::uint64_t process) const {
  for (TraceStream& s : rank.streams) {
    const auto at = kinds_.find({process, s.context, s.id});
    if (at != kinds_.end()) s.kind = at->second;
  }
}

}  // namespace distsim::traces
