#include "sim/engine/program/loop.hpp"

namespace distsim::engine {
namespace {

/// A step for each duration, which is all that tells places apart, with the groups.
Program durations_of(const Loop& loop) {
  Program out;
  out.ranks = loop.ranks;
  out.groups = loop.groups;
  out.steps.reserve(loop.rows.size());
  for (const Row& row : loop.rows) out.add(Step{StreamId(0), row}, {});
  return out;
}

}  // namespace

Roles roles_of(const Loop& loop) {
  Roles out = roles_of(durations_of(loop));
  CHECK(out.each == 1 && out.repeats == 1) << "rows of a loop are by place";
  out.each = loop.each;
  out.repeats = loop.repeats;
  for (std::uint32_t& rank : out.first) rank *= loop.each;
  for (std::uint32_t& ranks : out.count) ranks *= loop.each * loop.repeats;
  return out;
}

Loop loop_of_roles(Loop loop, const Roles& roles) {
  Roles places = roles;
  places.each = places.repeats = 1;
  for (std::uint32_t& first : places.first) first /= loop.each;
  for (std::uint32_t& count : places.count) count /= loop.each * loop.repeats;
  Program reduced = program_of_roles(durations_of(loop), places);
  loop.ranks = reduced.ranks;
  loop.each = loop.repeats = 1;
  loop.groups = std::move(reduced.groups);
  for (std::uint32_t i = 0; i < loop.rows.size(); ++i) loop.rows[i] = reduced.steps[StepId(i)].duration;
  return loop;
}

}  // namespace distsim::engine
