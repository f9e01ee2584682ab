#include "sim/engine/program/matching.hpp"

#include <algorithm>

#include "sim/engine/events/irregular_evaluator.hpp"
#include "sim/engine/program/check_text.hpp"

namespace distsim::engine {
MatchingBuilder::MatchingBuilder(std::uint32_t ranks, std::uint32_t streams) {
  program_.ranks = ranks;
  program_.streams = streams;
}

Result<MatchingBuilder::CommunicatorId> MatchingBuilder::add_communicator(std::vector<std::uint32_t> members) {
  std::sort(members.begin(), members.end());
  const auto fail = [](const std::string& found, const std::string& expected) {
    return Error{"communicator: found " + found + ", expected " + expected, "", ""};
  };
  if (members.empty()) return fail("no members", "at least one");
  if (members.back() >= program_.ranks)
    return fail("rank " + text(members.back()), "a rank below " + text(program_.ranks));
  const auto twice = std::adjacent_find(members.begin(), members.end());
  if (twice != members.end()) return fail("rank " + text(*twice) + " twice", "each rank once");
  const std::size_t size = members.size();
  return communicators_.push_back({std::move(members), std::vector<std::uint32_t>(size, 0), {}});
}

StepId MatchingBuilder::add(const Post& post, std::uint32_t meeting) {
  return program_.add({post.rank, post.stream, post.duration, meeting}, post.waits);
}

std::uint32_t MatchingBuilder::nth_meeting(std::vector<std::uint32_t>& meetings, std::uint32_t n, std::size_t size) {
  if (n == meetings.size()) {
    meetings.push_back(static_cast<std::uint32_t>(program_.meeting_sizes.size()));
    program_.meeting_sizes.push_back(static_cast<std::uint32_t>(size));
  }
  return meetings[n];
}

StepId MatchingBuilder::work(const Post& post) { return add(post, RankStep::kAlone); }

StepId MatchingBuilder::collective(const Post& post, CommunicatorId communicator) {
  Communicator& c = communicators_[communicator];
  const auto member = std::lower_bound(c.members.begin(), c.members.end(), post.rank.value());
  if (member == c.members.end() || *member != post.rank.value()) {
    if (misuse_.empty())
      misuse_ = "rank " + text(post.rank.value()) + " in a collective of communicator " + text(communicator.value());
    return add(post, RankStep::kAlone);
  }
  std::uint32_t& calls = c.calls[static_cast<std::size_t>(member - c.members.begin())];
  return add(post, nth_meeting(c.meetings, calls++, c.members.size()));
}

StepId MatchingBuilder::send(const Post& post, RankId to, std::uint32_t tag) {
  Exchange& exchange = channels_[{post.rank, to, tag}];
  return add(post, nth_meeting(exchange.meetings, exchange.sends++, 2));
}

StepId MatchingBuilder::receive(const Post& post, RankId from, std::uint32_t tag) {
  Exchange& exchange = channels_[{from, post.rank, tag}];
  return add(post, nth_meeting(exchange.meetings, exchange.receives++, 2));
}

StepId MatchingBuilder::post_message(const Post& post, RankId to, std::uint32_t tag) {
  const StepId step = add(post, RankStep::kAlone);
  messages_[{post.rank, to, tag}].sent.push_back(step);
  return step;
}

StepId MatchingBuilder::take_message(const Post& post, RankId from, std::uint32_t tag) {
  std::vector<StepId> waits(post.waits.begin(), post.waits.end());
  waits.emplace_back();  // known when all have posted: see deliver_messages
  const StepId step = add({post.rank, post.stream, post.duration, waits}, RankStep::kAlone);
  messages_[{from, post.rank, tag}].taken.push_back(program_.waits.size() - 1);
  return step;
}

Error MatchingBuilder::unequal(const Channel& channel, std::size_t sends, std::size_t receives) {
  return {"messages from rank " + text(channel.from.value()) + " to rank " + text(channel.to.value()) + " under tag " +
              text(channel.tag) + ": found " + text(sends) + " sends and " + text(receives) +
              " receives, expected equal numbers",
          "", ""};
}

Result<void> MatchingBuilder::check_exchanges() const {
  for (const auto& [channel, exchange] : channels_) {
    if (exchange.sends != exchange.receives) return unequal(channel, exchange.sends, exchange.receives);
  }
  return {};
}

/// A message that nobody takes is refused as one that nobody sends is.
Result<void> MatchingBuilder::deliver_messages() {
  for (const auto& [channel, messages] : messages_) {
    if (messages.sent.size() != messages.taken.size())
      return unequal(channel, messages.sent.size(), messages.taken.size());
    for (std::size_t i = 0; i < messages.sent.size(); ++i) program_.waits[messages.taken[i]] = messages.sent[i];
  }
  return {};
}

Result<void> MatchingBuilder::check_communicators() const {
  if (!misuse_.empty()) return Error{"found " + misuse_ + ", expected a member of it", "", ""};
  for (std::uint32_t id = 0; id < communicators_.size(); ++id) {
    const Communicator& c = communicators_[CommunicatorId(id)];
    for (std::size_t i = 0; i < c.members.size(); ++i) {
      if (c.calls[i] == c.meetings.size()) continue;
      return Error{"communicator " + text(id) + ": found " + text(c.calls[i]) + " collectives on rank " +
                       text(c.members[i]) + ", expected " + text(c.meetings.size()) + " as on its other members",
                   "", ""};
    }
  }
  return {};
}

Result<IrregularProgram> MatchingBuilder::finish() && {
  TRY(check_exchanges());
  TRY(deliver_messages());
  TRY(check_communicators());
  TRY(validate(program_));
  return std::move(program_);
}

}  // namespace distsim::engine
