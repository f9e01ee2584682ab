// Matching: builds an irregular program from what ranks post, as a trace or an MPI program has it. Who meets whom
// follows from the order of posting.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/engine/program/irregular_program.hpp"

namespace distsim::engine {

/// Rules, those of NCCL and MPI:
///   the n-th collective that a rank posts on a communicator is the n-th of that communicator, and needs every member;
///   the n-th send from a to b under a tag meets the n-th receive of b from a under that tag.
/// `send` and `receive` wait for each other (rendezvous). `post_message` and `take_message` do not meet: the sender
/// goes on when its message is out, and what takes the message waits for that. `finish` refuses what is left without
/// its partners, and names it.
class MatchingBuilder {
 public:
  using CommunicatorId = Id<struct CommunicatorTag>;

  /// How a step is posted: by whom, on which stream, how long it takes once all are there, after what.
  struct Post {
    RankId rank;
    StreamId stream;
    std::int64_t duration = 0;  ///< picoseconds
    std::span<const StepId> waits;
  };

  MatchingBuilder(std::uint32_t ranks, std::uint32_t streams);

  /// Members in any order. Refuses an empty list, a rank out of range and one listed twice.
  Result<CommunicatorId> add_communicator(std::vector<std::uint32_t> members);

  StepId work(const Post& post);
  StepId collective(const Post& post, CommunicatorId communicator);
  StepId send(const Post& post, RankId to, std::uint32_t tag = 0);
  StepId receive(const Post& post, RankId from, std::uint32_t tag = 0);
  StepId post_message(const Post& post, RankId to, std::uint32_t tag = 0);
  StepId take_message(const Post& post, RankId from, std::uint32_t tag = 0);

  /// The program, if every collective has all its members and every send its receive. It may still deadlock: see
  /// evaluate_irregular.
  Result<IrregularProgram> finish() &&;

 private:
  struct Channel {
    RankId from, to;
    std::uint32_t tag = 0;
    auto operator<=>(const Channel&) const = default;
  };
  struct Exchange {
    std::vector<std::uint32_t> meetings;  ///< one a message, whichever side posted it first
    std::uint32_t sends = 0, receives = 0;
  };
  struct Messages {
    std::vector<StepId> sent;
    std::vector<std::size_t> taken;  ///< by message: where in the waits the step that sends it belongs
  };
  struct Communicator {
    std::vector<std::uint32_t> members;   ///< sorted
    std::vector<std::uint32_t> calls;     ///< by place in members: collectives posted so far
    std::vector<std::uint32_t> meetings;  ///< one a collective
  };

  StepId add(const Post& post, std::uint32_t meeting);
  std::uint32_t nth_meeting(std::vector<std::uint32_t>& meetings, std::uint32_t n, std::size_t size);
  Result<void> check_exchanges() const;
  Result<void> deliver_messages();
  static Error unequal(const Channel& channel, std::size_t sends, std::size_t receives);
  Result<void> check_communicators() const;

  IrregularProgram program_;
  IdVector<CommunicatorId, Communicator> communicators_;
  std::map<Channel, Exchange> channels_;
  std::map<Channel, Messages> messages_;
  std::string misuse_;  ///< the first post by a rank that is no member of its communicator
};

}  // namespace distsim::engine
