// Facts about a run that its file name may contain: "h100_2n16g_all_reduce.txt" is 2 nodes and 16 GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/graph/op.hpp"

namespace distsim::collectives {

struct NamedShape {
  std::uint32_t nodes = 0, ranks = 0;
};
/// "2n16g" or "2n16r" between underscores.
std::optional<NamedShape> shape_of_file_name(std::string_view path);

/// The longest name of a collective in it: all_reduce before reduce.
std::optional<graph::CollectiveKind> kind_of_file_name(std::string_view path);

}  // namespace distsim::collectives
