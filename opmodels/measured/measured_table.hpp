// MeasuredTable: the measured times of one GPU with its libraries. The most trusted source of a price.
//
//   at a measured point            the measured time itself; basis measured; the range holds the times of all its rows
//   within an octave of some       models' time * exp(trust * r); basis interpolated
//       r      mean of log(measured / models) of the four nearest points, each weighted by 1 / distance^2, distances in
//              octaves
//       trust  1 - distance of the nearest; between points also what those of the four on the other side are trusted; at most 1
//                                  the range is at least that of the points, averaged and faded likewise
//   beyond                         the models' time
//
// The file NAME.ops, text:  "distsim-ops 1", "device NAME", "library TEXT", then one line per point
//        GROUP X X X X X X MEASURED_US MODELS_US [LOW_US HIGH_US] [scaled]        (op_point.hpp; GROUP in hex)
// in the order of GROUP and X, and last "crc32 HEX" of all lines before it. MODELS_US is the models' time when the file
// was written. LOW_US and HIGH_US are the shortest and longest time, where rows of several times became the point; scaled: a
// time of the point was measured at another clock and carried here, so that its basis is not measured but scaled.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "opmodels/measured/op_point.hpp"

namespace distsim::opmodels {

struct MeasuredPoint {
  OpPoint point;
  double measured_us = 0, models_us = 0;
  double low_us = 0, high_us = 0;  ///< of its rows; 0: all took measured_us
  bool scaled = false;             ///< a row was measured at another clock and carried to this one
};

class MeasuredTable {
 public:
  static constexpr std::size_t kMaxPoints = 200'000;

  struct Answer {
    double measured_us = 0;               ///< above 0: exactly this op was measured
    double log_ratio = 0;                 ///< to be multiplied by trust
    double trust = 0;                     ///< 0: nothing near
    double log_below = 0, log_above = 0;  ///< how far the rows of a point reach; to be multiplied by trust
    bool scaled = false;                  ///< measured_us was carried from another clock
  };

  MeasuredTable(std::string device, std::string library, std::vector<MeasuredPoint> points);

  Answer ask(const OpPoint& point) const;
  std::string text() const;
  const std::string& device() const { return device_; }
  std::size_t size() const { return points_.size(); }
  /// In no order that means anything.
  const std::vector<MeasuredPoint>& points() const { return points_; }

 private:
  struct Group {
    std::uint64_t id;
    std::uint32_t first, last;
  };
  struct Nearest;
  static double trust_of(const Nearest& nearest, const OpPoint& at);
  void split(std::size_t first, std::size_t last);
  void search(std::size_t first, std::size_t last, const OpPoint& point, Nearest& nearest) const;

  std::string device_, library_;
  std::vector<MeasuredPoint> points_;  ///< by group; within one a k-d tree: the middle point splits the rest by axis_
  std::vector<std::uint8_t> axis_;
  std::vector<Group> groups_;
};

/// Errors, with the line: another kind of file or version, a checksum that does not match, fields that are no numbers,
/// times that are not positive, more than kMaxPoints points.
Result<MeasuredTable> parse_measured_table(std::string_view text);

}  // namespace distsim::opmodels
