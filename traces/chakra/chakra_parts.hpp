// The parts of the Chakra reader. Private to traces/.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "traces/chakra/chakra_builder.hpp"

namespace distsim::traces {

/// Attributes of the metadata with which distsim says how many files it wrote together, for sets whose manifest is lost;
/// a number of the job, which files of two jobs do not share; and how many ranks the job has.
inline constexpr std::string_view kSetRanks = "distsim_set_ranks";
inline constexpr std::string_view kSetJob = "distsim_set_job";
inline constexpr std::string_view kJobRanks = "distsim_job_ranks";
inline constexpr std::int64_t kMostSetRanks = std::int64_t{1} << 24;

/// Of NodeType, by number.
inline constexpr std::array<std::string_view, 8> kChakraKinds{"INVALID_NODE",   "METADATA_NODE", "MEM_LOAD_NODE",
                                                              "MEM_STORE_NODE", "COMP_NODE",     "COMM_SEND_NODE",
                                                              "COMM_RECV_NODE", "COMM_COLL_NODE"};

/// One attribute of a node, whatever type its writer chose.
struct ChakraAttribute {
  std::string_view name;
  std::optional<std::int64_t> number;  ///< where the value is a whole number of 64 bits, or text that is exactly one
  bool is_truth = false;               ///< written as true or false: 1 or 0
  std::string_view text;               ///< where the value is text
  bool is_text = false;
  std::string as_written;  ///< for messages, where there is no number
};

/// Takes over what the attributes of one node say of it; attributes of no use here are passed by.
class ChakraAttributes {
 public:
  ChakraAttributes(ChakraBuilder& builder, ChakraNode& node) : builder_(builder), node_(node) {}
  /// Errors: a value that is not what the attribute is (a size that is no whole number, a collective of no known name),
  /// two values of one attribute.
  Result<void> apply(const ChakraAttribute& attribute);

 private:
  Result<void> apply_kind_of_collective(const ChakraAttribute& attribute);

  ChakraBuilder& builder_;
  ChakraNode& node_;
  std::vector<std::pair<std::string_view, std::string>> seen_;  ///< name and value
};

/// Takes over what an attribute of the metadata says of the set and the job; others are passed by.
void apply_metadata(ChakraBuilder& builder, const ChakraAttribute& attribute);

/// Sets the duration from whole microseconds; one that is out of range becomes one that ChakraBuilder::add refuses.
void set_micros(ChakraNode& node, std::int64_t micros);

/// The process groups that a `process_group:init` node carries as text in its inputs; text without any is passed by.
/// Errors: a rank that is no number, one name for two groups.
Result<void> add_process_groups(ChakraBuilder& builder, std::string_view inputs);

/// Errors carry no file name: read_chakra adds it.
Result<ChakraGraph> read_chakra_protobuf(std::string_view bytes);
Result<ChakraGraph> read_chakra_json(std::string_view text);

}  // namespace distsim::traces
