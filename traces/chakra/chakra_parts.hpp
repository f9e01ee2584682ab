// The parts of the Chakra reader. Private to traces/.
#pragma once

#include "base/result.hpp"
#include "traces/chakra/chakra_builder.hpp"

namespace distsim::traces {

/// One attribute of a node, whatever type its writer chose: the same attribute comes as int32, int64, uint64 or bool.
/// Attribute of the metadata with which distsim says how many files it wrote together, for sets whose manifest is lost.
inline constexpr std::string_view kSetRanks = "distsim_set_ranks";
/// And one with a number of the job, which files of two jobs do not share.
inline constexpr std::string_view kSetJob = "distsim_set_job";
inline constexpr std::int64_t kMostSetRanks = std::int64_t{1} << 24;

struct ChakraAttribute {
  std::string_view name;
  std::string_view text;
  std::int64_t number = 0;
};

/// Takes over what an attribute says of a node; attributes of no use here are passed by.
void apply_attribute(ChakraBuilder& builder, ChakraNode& node, const ChakraAttribute& attribute);

/// Sets the duration from whole microseconds; one that is out of range becomes one that ChakraBuilder::add refuses.
void set_micros(ChakraNode& node, std::int64_t micros);

/// The process groups that a `process_group:init` node carries as text in its inputs; text without any is passed by.
void add_process_groups(ChakraBuilder& builder, std::string_view inputs);

/// Errors carry no file name: read_chakra adds it.
Result<ChakraGraph> read_chakra_protobuf(std::string_view bytes);
Result<ChakraGraph> read_chakra_json(std::string_view text);

}  // namespace distsim::traces
