#include "traces/timeline/perfetto_writer.hpp"

#include <cmath>
#include <ostream>
#include <unordered_set>

#include "traces/files/proto_wire.hpp"
#include "traces/files/text_interner.hpp"
#include "traces/timeline/perfetto_fields.hpp"
#include "traces/timeline/timeline_file.hpp"

namespace distsim::traces {
namespace {

namespace pf = perfetto;

constexpr std::size_t kMostInterned = std::size_t{8} << 20;
constexpr std::uint64_t kSequence = 1;
constexpr std::int64_t kPerNanosecond = 1000;

class PerfettoWriter {
 public:
  PerfettoWriter(const SliceSource& source, std::ostream& out) : source_(source), out_(out) {}

  Result<void> write() {
    clear_state();
    for (std::size_t i = 0; i < source_.tracks.size(); ++i) track(source_.tracks[i], i);
    for (std::size_t i = 0; i < source_.counters.size(); ++i) counter_track(source_.counters[i], i);
    source_.for_each([this](const Slice& s) { slice(s); });
    if (!source_.counters.empty()) source_.for_each_sample([this](const CounterSample& s) { sample(s); });
    flush();
    if (early_) return Error{"timeline: found a slice that starts before 0, expected all from 0 on", "", ""};
    if (!out_.good()) return Error{"cannot write the timeline", "", "is the disk full?"};
    return {};
  }

 private:
  // Ids of tracks: processes, threads and counters each have a range of their own.
  static constexpr std::uint64_t kRange = std::uint64_t{1} << 32;
  static std::uint64_t process_uuid(std::uint32_t process) { return kRange + process; }
  static std::uint64_t track_uuid(std::size_t track) { return 2 * kRange + track; }
  static std::uint64_t counter_uuid(std::size_t counter) { return 3 * kRange + counter; }

  void flush() {
    out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.clear();
  }

  void emit(ProtoMessage& packet) {
    packet.varint(pf::packet::sequence_id, kSequence);
    text_ += static_cast<char>(pf::trace::packet << 3 | 2);
    append_varint(text_, packet.str().size());
    text_ += packet.str();
    if (text_.size() > kFlushAt) flush();
  }

  /// Forgets all interned texts, here and in the reader.
  void clear_state() {
    for (TextInterner* t : {&names_, &categories_, &keys_, &values_}) t->clear();
    ProtoMessage packet;
    packet.varint(pf::packet::sequence_flags, pf::packet::kStateCleared);
    emit(packet);
  }

  void descriptor(const ProtoMessage& d) {
    ProtoMessage packet;
    packet.message(pf::packet::track_descriptor, d);
    emit(packet);
  }

  void process(const Track& t, std::size_t index) {
    ProtoMessage process, d;
    process.varint(pf::descriptor::process_pid,
                   std::uint64_t{t.process} + 1);  // 0 is the kernel's idle task to Perfetto
    process.text(pf::descriptor::process_name, t.process_name);
    d.varint(pf::descriptor::uuid, process_uuid(t.process));
    d.message(pf::descriptor::process, process);
    d.varint(pf::descriptor::child_ordering, pf::descriptor::kExplicitOrder);
    d.varint(pf::descriptor::sibling_order_rank, index);
    descriptor(d);
  }

  void track(const Track& t, std::size_t index) {
    if (index == 0 || source_.tracks[index - 1].process != t.process) process(t, index);
    child(track_uuid(index), t.process, t.thread_name, index, nullptr);
  }

  void counter_track(const CounterTrack& c, std::size_t index) {
    ProtoMessage counter;
    counter.text(pf::descriptor::counter_unit_name, c.unit);
    child(counter_uuid(index), c.process, c.name, source_.tracks.size() + index, &counter);
  }

  void child(std::uint64_t uuid, std::uint32_t process, std::string_view name, std::size_t rank,
             const ProtoMessage* counter) {
    ProtoMessage d;
    d.varint(pf::descriptor::uuid, uuid);
    d.varint(pf::descriptor::parent_uuid, process_uuid(process));
    d.text(pf::descriptor::name, name);
    d.varint(pf::descriptor::sibling_order_rank, rank);
    if (counter) d.message(pf::descriptor::counter, *counter);
    descriptor(d);
  }

  /// The number of a text; a new one is put into the interned data of the packet at hand.
  std::uint64_t intern(TextInterner& interner, pf::Field field, std::string_view text) {
    const auto [id, is_new] = interner.find_or_add(text);
    if (!is_new) return id;
    ProtoMessage entry;
    entry.varint(pf::interned::iid, id);
    entry.text(pf::interned::text, text);
    interned_.message(field, entry);
    return id;
  }

  void annotations(const Slice& s) {
    for (const auto& [key, value] : s.args) {
      ProtoMessage a;
      a.varint(pf::event::annotation_name_iid, intern(keys_, pf::interned::annotation_names, key));
      a.varint(pf::event::annotation_string_iid, intern(values_, pf::interned::annotation_strings, value));
      event_.message(pf::event::annotations, a);
    }
  }

  void slice(const Slice& s) {
    CHECK(s.track < source_.tracks.size()) << "slice on track " << s.track << " of " << source_.tracks.size();
    if (s.start_ps < 0) early_ = true;
    if (early_) return;
    if (names_.bytes() + categories_.bytes() + keys_.bytes() + values_.bytes() > kMostInterned) clear_state();
    event_.clear();
    interned_.clear();
    event_.varint(pf::event::type, pf::event::kBegin);
    event_.varint(pf::event::track_uuid, track_uuid(s.track));
    event_.varint(pf::event::name_iid, intern(names_, pf::interned::names, s.name));
    if (!s.category.empty())
      event_.varint(pf::event::category_iids, intern(categories_, pf::interned::categories, s.category));
    if (s.flow != 0)
      event_.fixed64(s.flow_place == FlowPlace::last ? pf::event::terminating_flow_ids : pf::event::flow_ids, s.flow);
    annotations(s);
    track_event(s.start_ps);
    event_.clear();
    event_.varint(pf::event::type, pf::event::kEnd);
    event_.varint(pf::event::track_uuid, track_uuid(s.track));
    track_event(s.start_ps + s.duration_ps);
  }

  void sample(const CounterSample& s) {
    CHECK(s.counter < source_.counters.size());
    if (s.time_ps < 0) early_ = true;
    if (early_) return;
    event_.clear();
    event_.varint(pf::event::type, pf::event::kCounter);
    event_.varint(pf::event::track_uuid, counter_uuid(s.counter));
    event_.number(pf::event::double_counter_value, s.value);
    track_event(s.time_ps);
  }

  /// A packet of event_ and what was interned for it.
  void track_event(std::int64_t ps) {
    packet_.clear();
    packet_.varint(pf::packet::timestamp, static_cast<std::uint64_t>(ps / kPerNanosecond));
    if (!interned_.empty()) packet_.message(pf::packet::interned_data, interned_);
    interned_.clear();
    packet_.message(pf::packet::track_event, event_);
    packet_.varint(pf::packet::sequence_flags, pf::packet::kNeedsState);
    emit(packet_);
  }

  const SliceSource& source_;
  std::ostream& out_;
  std::string text_;
  ProtoMessage packet_, event_, interned_;
  TextInterner names_, categories_, keys_, values_;
  bool early_ = false;
};

constexpr std::int64_t kPacket = 64;      // tags, lengths, ids, a time; without texts
constexpr std::int64_t kAnnotation = 24;  // two interned ids and their message

}  // namespace

std::int64_t perfetto_trace_bound(const SliceSource& source) {
  std::int64_t bytes = kPacket;
  std::unordered_set<std::string> known;  // texts are written once, and again when the table of them is emptied
  std::size_t interned = 0;
  const auto text = [&](std::string_view t) {
    if (interned > kMostInterned) known.clear(), interned = 0;
    if (!known.emplace(t).second) return;
    interned += t.size();
    bytes += kAnnotation + 4 * static_cast<std::int64_t>(t.size());  // a byte that is no UTF-8 becomes up to four
  };
  for (const Track& t : source.tracks)
    bytes += 3 * kPacket + 4 * static_cast<std::int64_t>(t.process_name.size() + t.thread_name.size());
  for (const CounterTrack& c : source.counters)
    bytes += 3 * kPacket + 4 * static_cast<std::int64_t>(c.name.size() + c.unit.size());
  source.for_each([&](const Slice& s) {
    bytes += 2 * kPacket;
    text(s.name);
    text(s.category);
    for (const auto& [key, value] : s.args) {
      bytes += kAnnotation;
      text(key);
      text(value);
    }
  });
  if (!source.counters.empty()) source.for_each_sample([&](const CounterSample&) { bytes += kPacket; });
  return bytes;
}

Result<void> write_perfetto_trace(const SliceSource& source, const std::string& path, FilesTogether& files) {
  return write_timeline_file(path, files, [&](std::ostream& out) { return PerfettoWriter(source, out).write(); });
}

}  // namespace distsim::traces
