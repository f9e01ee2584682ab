#include "traces/kineto/kineto_metadata.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cmath>

#include "base/text/printable.hpp"
#include "traces/build/op_inputs.hpp"
#include "traces/files/json_memory.hpp"
#include "traces/sizes/collective_size.hpp"

namespace distsim::traces {
namespace {

namespace dom = simdjson::dom;

std::int64_t integer_at(const dom::element& object, std::string_view key, std::int64_t absent) {
  dom::element value;
  if (object[key].get(value)) return absent;
  std::int64_t v = 0;
  std::string_view text;
  if (!value.get_int64().get(v)) return v;
  double d = 0;
  if (!value.get_double().get(d))
    return d > -9e18 && d < 9e18 && d == std::floor(d) ? static_cast<std::int64_t>(d) : absent;
  if (!value.get_string().get(text) && integer_of(text, v)) return v;
  return absent;
}

std::string text_at(const dom::element& object, std::string_view key) {
  std::string_view text;
  dom::element value;
  if (object[key].get(value)) return "";
  if (!value.get_string().get(text)) return std::string(text);
  std::int64_t v = 0;
  return value.get_int64().get(v) ? "" : std::to_string(v);
}

/// "ranks" is a list, or in on-demand traces its text.
std::vector<std::uint32_t> ranks_at(const dom::element& object, std::int64_t size) {
  dom::element value;
  if (object["ranks"].get(value)) return {};
  std::string_view text;
  return listed_ranks(value.get_string().get(text) ? simdjson::minify(value) : std::string(text), size);
}

}  // namespace

std::optional<std::int64_t> base_time(std::string_view json) {
  std::int64_t ns = 0;
  return integer_of(json, ns) && ns >= 0 && ns < INT64_MAX / 2 ? std::optional(ns) : std::nullopt;
}

bool KinetoMetadata::wanted(std::string_view key) {
  return key == "deviceProperties" || key == "distributedInfo" || key == "baseTimeNanoseconds" || key == "host_name";
}

void KinetoMetadata::take(std::string_view key, std::string_view json) {
  if (key == "baseTimeNanoseconds") {
    const auto base = base_time(json);
    base_ns_ = base.value_or(0);
    if (!base) unreadable_.emplace_back(key);
  } else if (key == "host_name") {
    host_ = json.size() >= 2 ? unescaped(json.substr(1, json.size() - 2)) : "";
  } else if (key == "deviceProperties") {
    devices(json);
  } else {
    distributed(json);
  }
}

void KinetoMetadata::devices(std::string_view json) {
  dom::parser parser;
  dom::array list;
  if (failed(parser.parse(json.data(), json.size()).get_array().get(list))) {
    unreadable_.emplace_back("deviceProperties");
    return;
  }
  for (const dom::element item : list) {
    TraceDevice d;
    d.index = static_cast<std::uint32_t>(std::clamp<std::int64_t>(integer_at(item, "id", 0), 0, INT32_MAX));
    d.name = text_at(item, "name");
    d.memory_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(integer_at(item, "totalGlobalMem", 0), 0));
    d.multiprocessors =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(integer_at(item, "numSms", 0), 0, INT32_MAX));
    d.compute_capability = compute_capability(integer_at(item, "computeMajor", 0), integer_at(item, "computeMinor", 0));
    devices_.push_back(std::move(d));
  }
}

void KinetoMetadata::distributed(std::string_view json) {
  dom::parser parser;
  dom::element info;
  if (failed(parser.parse(json.data(), json.size()).get(info)) || !info.is_object()) {
    unreadable_.emplace_back("distributedInfo");
    return;
  }
  rank_ = integer_at(info, "rank", -1);
  rank_known_ = rank_ >= 0 && rank_ <= INT32_MAX;
  if (dom::element given; !rank_known_ && !info["rank"].get(given)) unreadable_.emplace_back("distributedInfo.rank");
  const std::int64_t world = integer_at(info, "world_size", -1);
  if (dom::element given; world < 1 && !info["world_size"].get(given))
    unreadable_.emplace_back(world == 0 ? "distributedInfo.world_size of 0" : "distributedInfo.world_size");
  world_ = std::clamp<std::int64_t>(world, 0, INT32_MAX);
  dom::array groups;
  dom::element config;
  if (info["pg_config"].get(config) || config.get_array().get(groups)) return;
  for (const dom::element item : groups) {
    TraceGroup g;
    g.name = text_at(item, "pg_name");
    if (g.name.empty()) g.name = text_at(item, "uid");
    g.description = text_at(item, "pg_desc");
    g.size = static_cast<std::uint32_t>(std::clamp<std::int64_t>(integer_at(item, "pg_size", 0), 0, INT32_MAX));
    g.ranks = ranks_at(item, g.size);
    if (!g.name.empty()) configured_.push_back(std::move(g));
  }
}

/// Ranks that a collective's own list cut off, from the configuration. An empty list means everybody.
void KinetoMetadata::complete_groups() {
  for (TraceGroup& g : job_.groups) {
    for (const TraceGroup& c : configured_) {
      if (g.name != c.name || !g.ranks.empty()) continue;
      if (g.size != 0 && c.size != 0 && g.size != c.size) continue;
      g.ranks = c.ranks;
      std::ranges::sort(g.ranks);
      if (g.size == 0) g.size = c.size;
      if (g.description.empty()) g.description = c.description;
    }
    if (g.ranks.empty() && world_ > 0 && g.size == world_ && world_ <= (1 << 20)) {
      for (std::uint32_t r = 0; r < g.size; ++r) g.ranks.push_back(r);
    }
  }
}

void KinetoMetadata::finish(ReadRank& out) {
  TraceRank& rank = out.rank;
  const std::int64_t base = base_ns_;
  for (HostRecord& r : rank.host_records) r.start_ns += base;
  for (DeviceRecord& r : rank.device_records) r.start_ns += base;
  for (SyncRecord& r : rank.syncs) r.start_ns += base;
  for (MemoryRecord& r : rank.memory) r.start_ns += base;
  for (ProfilerWork& r : rank.profiler_work) r.start_ns += base;
  out.rank_known = rank_known_;
  out.world_size = static_cast<std::uint32_t>(world_);
  if (rank_known_) rank.rank = static_cast<std::uint32_t>(rank_);
  rank.host_name = host_;
  // Only the devices that this rank used; a node lists all of its own.
  for (const TraceStream& s : rank.streams) {
    const auto has = [&](const TraceDevice& d) { return d.index == s.device; };
    if (std::ranges::any_of(rank.devices, has)) continue;
    const auto listed = std::ranges::find_if(devices_, has);
    rank.devices.push_back(
        listed != devices_.end() ? *listed : TraceDevice{s.device, devices_.size() == 1 ? devices_[0].name : "", 0, 0});
  }
  if (rank.devices.empty() && !devices_.empty()) rank.devices.push_back(devices_.front());
  complete_groups();
  for (const std::string& key : unreadable_) rank.notes.assume(printable(key) + " cannot be read and was skipped");
}

CollectiveArgs collective_args(const KinetoArgs& a) {
  const auto number = [](std::string_view text, std::int64_t absent) {
    std::int64_t v = 0;
    return integer_of(text, v) ? v : absent;
  };
  CollectiveArgs c;
  c.name = a.coll_name;
  if (c.name.empty()) return c;
  c.dtype = a.coll_dtype;
  c.group_name = a.group_name;
  c.group_description = a.group_description;
  c.ranks = a.group_ranks;
  c.in_split = a.in_split;
  c.out_split = a.out_split;
  c.in_elements = number(a.coll_in, -1);
  c.out_elements = number(a.coll_out, -1);
  c.group_size = number(a.coll_size, 0);
  c.sequence = number(a.sequence, -1);
  c.from = number(a.from_rank, -1);
  c.to = number(a.to_rank, -1);
  c.rank_start = number(a.rank_start, -1);
  c.rank_stride = number(a.rank_stride, 0);
  return c;
}

TraceCollective gloo_collective(TraceJob& job, std::string_view name, std::uint32_t inputs) {
  TraceCollective c;
  if (const auto kind = collective_of_call(name)) {
    c.kind = *kind;
    c.kind_known = true;
  }
  if (inputs != kNone) fill_elements(name, job.inputs[inputs], c);
  return c;
}

}  // namespace distsim::traces
