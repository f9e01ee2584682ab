// How far a study is, on standard error: a line drawn in place where that is a terminal, else a line every ten seconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace distsim::study {

class StudyProgress {
 public:
  using Clock = std::chrono::steady_clock;

  /// `total` 0: not known before the end. `kept`: points that need no evaluation.
  /// `noun`: what is counted.
  StudyProgress(std::string command, std::size_t total, std::size_t kept, std::string noun = "points");
  ~StudyProgress();
  StudyProgress(const StudyProgress&) = delete;
  StudyProgress& operator=(const StudyProgress&) = delete;

  /// Draws when that is due. `known`: what is to be said beside, as "best 23.0 M samples/s"; may be empty.
  void show(std::size_t done, const std::string& known);

  /// "distsim sweep: 812 of 1,000 points, 1,204/s, 12 s left, best 23.0 M samples/s" of points that were evaluated at
  /// this rate; nothing of rate and time before the first. Without a total "distsim plan: 812 played, 2.1/s".
  static std::string text(const std::string& command, std::size_t done, std::size_t total, double points_per_s,
                          const std::string& known, const std::string& noun = "points");

 private:
  std::string command_, noun_;
  std::size_t total_, kept_;
  bool terminal_, drawn_ = false;
  Clock::time_point begin_, last_;
};

}  // namespace distsim::study
