// Chakra execution traces (.et): one rank's nodes and their dependencies. Common to files of all layouts.
//
// Schema: MLCommons Chakra, schema/protobuf/et_def.proto. Times in the files are whole microseconds, sizes bytes.
// `comm_bytes` as upstream writes it: all-reduce and reduce-scatter: the full vector; all-to-all: all that a rank
// sends; all-gather: the part of one rank.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distsim::traces {

/// The numbers of NodeType in the schema.
enum class ChakraKind : std::uint8_t { invalid, metadata, load, store, compute, send, receive, collective };

/// The numbers of CollectiveCommType; `unknown` where a node does not say.
enum class ChakraComm : std::uint8_t {
  all_reduce,
  reduce,
  all_gather,
  gather,
  scatter,
  broadcast,
  all_to_all,
  reduce_scatter,
  reduce_scatter_block,
  barrier,
  unknown = 255
};

/// A piece of ChakraGraph::text.
struct ChakraText {
  std::uint32_t begin = 0, size = 0;
};

struct ChakraNode {
  static constexpr std::int64_t kAbsent = -1;

  std::uint64_t id = 0;
  std::int64_t ps =
      0;  ///< duration, picoseconds: duration_micros, or the attribute duration_ps that our own files carry as well
  std::int64_t operations = 0;        ///< num_ops
  std::int64_t tensor_bytes = 0;      ///< tensor_size
  std::int64_t comm_bytes = kAbsent;  ///< comm_size
  std::int64_t peer = kAbsent;        ///< comm_dst of a send, comm_src of a receive
  std::int64_t tag = 0;               ///< comm_tag
  std::int64_t lane = kAbsent;        ///< GPU stream, or thread of the host
  ChakraText name, group;             ///< group: pg_name, empty where absent
  ChakraKind kind = ChakraKind::invalid;
  ChakraComm comm = ChakraComm::unknown;
  bool on_cpu = false;     ///< is_cpu_op
  bool send_recv = false;  ///< of an all_to_all: each member sends to the next alone; our own files carry it
};

/// Nodes in the order in which they are played: ascending ids, unless a dependency says otherwise. Dependencies point
/// backwards.
struct ChakraGraph {
  std::string version;          ///< of the schema; empty in files of the old layout
  std::uint32_t set_ranks = 0;  ///< files that were written with this one, itself included; 0: it does not say
  std::uint64_t set_job = 0;    ///< a number of the job that they are of; 0: it does not say
  std::uint32_t job_ranks = 0;  ///< ranks of the job, of which the files may be a part; 0: it does not say
  std::vector<ChakraNode> nodes;
  std::vector<std::uint32_t> dep_offsets{0};  ///< CSR: node n waits for deps[dep_offsets[n] .. dep_offsets[n+1])
  std::vector<std::uint32_t> deps;            ///< positions in `nodes`
  std::map<std::string, std::vector<std::uint32_t>>
      groups;  ///< process groups that the file itself defines; without members: all ranks
  std::size_t dropped_deps =
      0;  ///< control dependencies of the old layout, which name callers (see ChakraBuilder::old_layout)
  std::vector<std::string> misspelt;  ///< "'data_dep' of a node is not read; did you mean 'data_deps'?", each name once
  std::string text;

  std::string_view text_of(ChakraText t) const { return std::string_view(text).substr(t.begin, t.size); }
  std::span<const std::uint32_t> deps_of(std::size_t node) const {
    return {deps.data() + dep_offsets[node], deps.data() + dep_offsets[node + 1]};
  }
};

/// True where two ranks do the same in the same order and differ only in durations and names. Nodes that the files
/// number differently are alike.
bool same_structure(const ChakraGraph& a, const ChakraGraph& b);

}  // namespace distsim::traces
