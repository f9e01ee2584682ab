// Alike ranks: where neighbouring ranks do the same, as those of one pipeline stage, one of them is played for all; and
// where that repeats, as the stages of one replica do in the next, the first repetition is played for all.
//
// Rows say so themselves (Row::each, Row::repeats). With blocks of `each` ranks, `repeats` times over, a program is played
// on ranks / (each x repeats) places if every row has that form (or is uniform) and every group either lies in one block,
// where all arrive at once and joining changes nothing, or leads from every rank that a place stands for to the same
// other places.
#pragma once

#include <optional>

#include "sim/engine/program/program.hpp"

namespace distsim::engine {

struct Alike {
  std::uint32_t each = 1, repeats = 1;
  bool any() const { return each > 1 || repeats > 1; }
  bool operator==(const Alike&) const = default;
};

/// Ranks that one place can represent: what rows have in common where they and the groups allow it, else one.
Alike alike_ranks(const Program& program);

/// The program with one rank for each place, which alike_ranks() allows. Rows share their numbers with the original.
Program places_of(const Program& program, const Alike& alike);

/// The groups of places; nothing where ranks of one place lead to different places.
std::optional<Groups> groups_of_places(const Groups& groups, std::uint32_t ranks, const Alike& alike);

/// The program with every row written out rank by rank.
Program spread_out(const Program& program);

}  // namespace distsim::engine
