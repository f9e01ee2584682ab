// Alike ranks: where neighbouring ranks do the same, as those of one pipeline stage, one of them is played for all.
//
// Rows say so themselves (Row::each). With blocks of `each` ranks a program is played on ranks / each places if every
// row has that block (or is uniform) and every group either lies in one block, where all arrive at once and joining
// changes nothing, or leads from every rank of its blocks to the same other blocks.
#pragma once

#include <optional>

#include "sim/engine/program/program.hpp"

namespace distsim::engine {

/// Ranks that one place can represent: the rows' block where rows and groups allow it, else 1.
std::uint32_t alike_ranks(const Program& program);

/// The program with one rank for every `each`, which alike_ranks() allows. Rows share their numbers with the original.
Program places_of(const Program& program, std::uint32_t each);

/// The groups of blocks of `each` ranks; nothing where ranks of one block lead to different blocks.
std::optional<Groups> groups_of_places(const Groups& groups, std::uint32_t ranks, std::uint32_t each);

/// The program with every row of blocks written out rank by rank.
Program spread_out(const Program& program);

}  // namespace distsim::engine
