// Chakra reader: the bytes of one rank's trace -> ChakraGraph. The layout is detected from the content.
//
//   .et       length-delimited protocol buffers: GlobalMetadata, then Node after Node; with or without a schema
//   version; also gzip JSON      {"workload_graph": [{"Id": .., "NodeType": .., "runtime": ..}, ..]}, as the JSON
//   feeder reads it, or the messages of an .et
//             printed one after another, as chakra_jsonizer does
#pragma once

#include "traces/chakra/chakra.hpp"
#include "traces/trace_format.hpp"

namespace distsim::traces {

bool sniff_chakra(const TraceHead& head);

/// `file` appears in error messages. Errors: bytes that are no such file or end too early, nodes that cannot be ordered
/// (ChakraBuilder).
ReadGraph read_chakra;

inline constexpr TraceFormat kChakraExecution{
    .name = "Chakra execution trace",
    .extensions = {".et"},
    .sentence = "Chakra execution traces of both layouts, .et or JSON, for `replay`",
    .sniff = sniff_chakra,
    .read_graph = read_chakra,
};

/// Communicators as ASTRA-sim takes them: {"1": [0, 1, 2, 3], "2": [4, 5, 6, 7]}, by pg_name. Refuses empty and
/// repeated members.
Result<std::map<std::string, std::vector<std::uint32_t>>> read_chakra_groups(std::string_view json,
                                                                             const std::string& file);

}  // namespace distsim::traces
