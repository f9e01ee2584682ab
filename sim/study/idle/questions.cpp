#include "sim/study/idle/questions.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/log.hpp"
#include "sim/pipeline/cost_model_cache.hpp"
#include "sim/study/idle/asked.hpp"
#include "sim/study/points/crew.hpp"
#include "sim/study/workers.hpp"

namespace distsim::study::idle {
namespace {

/// Experiments and keys that are looked for in them.
class Questions {
 public:
  Questions(const std::vector<VariedExperiment>& experiments, const std::vector<Question>& questions)
      : experiments_(experiments), questions_(questions), asked_(experiments.size()), answers_(questions.size()) {
    for (std::size_t q = 0; q < questions.size(); ++q) {
      for (const std::size_t e : questions[q].in) pieces_.push_back({e, q});
    }
    std::ranges::stable_sort(pieces_, {}, &Piece::experiment);  // most keys have an effect in the first that has them
    for (const Piece& piece : pieces_) ++asked_[piece.experiment].left;
  }

  std::vector<Idle> answers(unsigned jobs) {
    const auto ask = [&](std::size_t i) {
      const LogSilence silence;
      answer(pieces_[i]);
    };
    for (const std::size_t i : for_each_index(pieces_.size(), jobs, ask, [] {}))
      answers_[pieces_[i].question].is_open = false;
    std::vector<Idle> out;
    for (const Answer& a : answers_) out.push_back(a.is_open ? Idle(a.idle_in) : std::nullopt);
    return out;
  }

 private:
  struct Piece {
    std::size_t experiment, question;
  };
  struct Answer {
    std::atomic<bool> is_open = true;
    std::atomic<std::size_t> idle_in = 0;
  };
  /// Kept from its first question to its last.
  struct Shared {
    std::mutex making;
    std::shared_ptr<Asked> asked;
    bool is_made = false;
    std::atomic<std::size_t> left = 0;
  };

  void answer(const Piece& piece) {
    const Question& question = questions_[piece.question];
    Answer& answer = answers_[piece.question];
    Shared& shared = asked_[piece.experiment];
    if (answer.is_open) {
      const std::shared_ptr<Asked> asked = experiment(piece.experiment);
      const Asked::Effect effect = asked ? asked->effect_of(question.path) : Asked::Effect::unknown;
      if (effect == Asked::Effect::none) ++answer.idle_in;
      const bool closes = effect == Asked::Effect::unasked && question.is_answered_where_unasked;
      if (effect == Asked::Effect::some || closes) answer.is_open = false;
    }
    if (--shared.left > 0) return;
    const std::lock_guard lock(shared.making);
    shared.asked.reset();
  }

  /// Null where its text cannot be read: nothing is known of a key from that.
  std::shared_ptr<Asked> experiment(std::size_t e) {
    Shared& shared = asked_[e];
    const std::lock_guard lock(shared.making);
    if (!shared.is_made) {
      auto parsed = experiments_[e].experiment->parsed(experiments_[e].sets);
      if (parsed.ok()) shared.asked = std::make_shared<Asked>(std::move(*parsed), cache_);
      shared.is_made = true;
    }
    return shared.asked;
  }

  const std::vector<VariedExperiment>& experiments_;
  const std::vector<Question>& questions_;
  std::vector<Shared> asked_;
  std::vector<Answer> answers_;
  std::vector<Piece> pieces_;
  pipeline::CostModelCache cache_;
};

unsigned threads_for(unsigned jobs) { return jobs == 0 ? cores_for_each(1) : jobs; }

}  // namespace

bool depend_on(const std::vector<VariedExperiment>& experiments, const std::vector<Path>& paths, unsigned jobs) {
  std::atomic<bool> out = false;
  pipeline::CostModelCache cache;
  const auto ask = [&](std::size_t i) {
    if (out) return;
    const LogSilence silence;
    auto parsed = experiments[i].experiment->parsed(experiments[i].sets);
    if (parsed.ok() && Asked(std::move(*parsed), cache).depends_on(paths)) out = true;
  };
  return !for_each_index(experiments.size(), threads_for(jobs), ask, [] {}).empty() || out;
}

std::vector<Idle> answers_to(const std::vector<Question>& questions, const std::vector<VariedExperiment>& experiments,
                             unsigned jobs) {
  return Questions(experiments, questions).answers(threads_for(jobs));
}

}  // namespace distsim::study::idle
