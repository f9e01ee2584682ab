#include <cctype>
#include <string>

#include "base/text/lower_case.hpp"
#include "traces/build/rank_builder.hpp"

namespace distsim::traces {
namespace {

/// "cudaLaunchKernelExC_v11060" -> "launchkernelexc": without the vendor's prefix and the version.
std::string bare(std::string_view name) {
  for (const std::string_view prefix : {"cuda", "cu", "hipExt", "hipModule", "hip", "mtia", "rt"}) {
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      break;
    }
  }
  const std::size_t version = name.rfind("_v");
  if (version != std::string_view::npos && version + 2 < name.size() &&
      std::isdigit(static_cast<unsigned char>(name[version + 2])) != 0)
    name = name.substr(0, version);
  return lower_case(name);
}

}  // namespace

RuntimeCall runtime_call(std::string_view name) {
  const std::string f = bare(name);
  const auto begins = [&](std::string_view p) { return f.starts_with(p); };
  if (begins("graphlaunch")) return RuntimeCall::launch_graph;
  if (begins("launch") || begins("modulelaunch")) return RuntimeCall::launch_kernel;
  if (begins("memcpy")) return RuntimeCall::memcpy;
  if (begins("memset")) return RuntimeCall::memset;
  if (begins("eventrecord")) return RuntimeCall::event_record;
  if (begins("streamwaitevent")) return RuntimeCall::stream_wait_event;
  if (begins("eventsynchronize")) return RuntimeCall::event_synchronize;
  if (begins("streamsynchronize")) return RuntimeCall::stream_synchronize;
  if (begins("devicesynchronize") || begins("ctxsynchronize")) return RuntimeCall::device_synchronize;
  if (begins("malloc") || begins("memalloc") || begins("hostalloc") || begins("hostmalloc"))
    return RuntimeCall::allocate;
  if (begins("free") || begins("memfree") || begins("hostfree")) return RuntimeCall::free;
  return RuntimeCall::other;
}

}  // namespace distsim::traces
