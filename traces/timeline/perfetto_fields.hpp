// Field numbers of Perfetto's trace format that we write. They are part of its public, frozen interface:
// https://github.com/google/perfetto/tree/main/protos/perfetto/trace (trace.proto, trace_packet.proto,
// track_event/*.proto, interned_data.proto). tests/traces/perfetto.proto says the same as a schema, with which the
// tests read files back.
#pragma once

#include <cstdint>

namespace distsim::traces::perfetto {

using Field = std::uint32_t;

namespace trace {
inline constexpr Field packet = 1;
}

namespace packet {
inline constexpr Field timestamp = 8, sequence_id = 10, track_event = 11, interned_data = 12, sequence_flags = 13,
                       track_descriptor = 60;
inline constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;
}  // namespace packet

namespace descriptor {
inline constexpr Field uuid = 1, name = 2, process = 3, parent_uuid = 5, counter = 8, child_ordering = 11,
                       sibling_order_rank = 12;
inline constexpr Field process_pid = 1, process_name = 6;
inline constexpr Field counter_unit_name = 6;
inline constexpr std::uint64_t kExplicitOrder = 3;
}  // namespace descriptor

namespace event {
inline constexpr Field category_iids = 3, annotations = 4, type = 9, name_iid = 10, track_uuid = 11,
                       double_counter_value = 44;
inline constexpr Field flow_ids = 47, terminating_flow_ids = 48;
inline constexpr std::uint64_t kBegin = 1, kEnd = 2, kCounter = 4;
inline constexpr Field annotation_name_iid = 1, annotation_string_iid = 17;
}  // namespace event

namespace interned {
inline constexpr Field categories = 1, names = 2, annotation_names = 3, annotation_strings = 29;
inline constexpr Field iid = 1, text = 2;
}  // namespace interned

}  // namespace distsim::traces::perfetto
