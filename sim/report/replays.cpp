#include "sim/report/replays.hpp"

#include <algorithm>

namespace distsim::report {
namespace {

/// Nothing where ranks have equal durations: then the program itself is played, as if for one rank.
std::optional<engine::Program> reduced_program(const engine::Program& program, const engine::Roles& roles) {
  if (std::ranges::all_of(program.steps, [](const engine::Step& step) { return step.duration.uniform(); })) return {};
  return engine::program_of_roles(program, roles);
}

std::vector<StepId> last_before(const Played& p) {
  return p.iterations < 2 ? std::vector<StepId>{} : last_of_streams(p, static_cast<std::uint16_t>(p.iterations - 2));
}

}  // namespace

Replays::Replays(const Played& p, Unplayed)
    : played_(p),
      steps_(static_cast<std::uint32_t>(p.program->steps.size() / p.iterations)),
      roles_(engine::roles_of(*p.program)),
      of_roles_(reduced_program(*p.program, roles_)),
      program_(of_roles_ ? *of_roles_ : *p.program),
      recurrence_(program_),
      last_(last_of_streams(p, static_cast<std::uint16_t>(p.iterations - 1))),
      last_before_(last_before(p)) {
  CHECK(p.program->steps.size() % p.iterations == 0) << "iterations differ in their steps";
}

Replays::Replays(const Played& p) : Replays(p, Unplayed{}) { restore(); }

std::unique_ptr<Replays> Replays::unplayed(const Played& program) {
  std::unique_ptr<Replays> out(new Replays(program, Unplayed{}));
  return out->play_as_it_is() ? std::move(out) : nullptr;
}

bool Replays::play_as_it_is() {
  return play([](StepId) { return std::optional<engine::Row>(); });
}

void Replays::set(StepId step, engine::Row row) {
  if (roles_.size() == 1) row = engine::Row(row.at(0));  // the program may have more ranks
  const bool nothing = row.uniform() && row.scalar() == 0;
  recurrence_.set_duration(step, nothing ? nothing_ : rows_.emplace_back(std::move(row)));
  changed_.push_back(step);
}

void Replays::restore() { CHECK(play_as_it_is()) << "a program that was played has become too long"; }

Busy Replays::busy() const {
  return busy_of(
      steps_, roles_, [&](StepId s) { return program_.steps[s].stream.value(); },
      [&](StepId s, std::uint32_t role) { return program_.steps[s].duration.at(role); });
}

Window Replays::window() const {
  Window out{0, 0, last_};
  for (const StepId s : last_before_) out.begin = std::max(out.begin, recurrence_.end(s).high);
  for (const StepId s : last_) out.end = std::max(out.end, recurrence_.end(s).high);
  return out;
}

}  // namespace distsim::report
