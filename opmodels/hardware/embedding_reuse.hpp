// How often the lookups of a batch meet a row again. Popularity of row i is proportional to i^-alpha (alpha = 0:
// uniform), drawn independently.
//
//   distinct(N)   expected rows touched by N draws:  sum_i 1 - (1 - p_i)^N        (uniform: E (1 - (1 - 1/E)^N))
//   hit rate      with the X most popular rows cached, P_X their share of draws:
//                 distinct <= X:  1 - distinct/N             every row is fetched once
//                 else            (N - X) P_X / N            X rows fetched once, the rest hit with probability P_X,
//                                                            at the X' <= X with the most hits
// For alpha = 0 this is the formula of Zhou et al., arXiv 2201.07821 (as kept in owensgroup/ml_perf_model). Validity:
// rows from 1 to 1e15, alpha from 0 to 4, N up to 1e15; the sum over rows takes the first 12 one by one and the rest in
// 36 bins (error below 2 %).
#pragma once

namespace distsim::opmodels {

class RowPopularity {
 public:
  RowPopularity(double rows, double alpha);

  double distinct(double draws) const;
  /// Share of draws that go to the `top` most popular rows.
  double share_of_top(double top) const;
  double hit_rate(double draws, double cached_rows) const;

 private:
  double tail(double draws) const;
  double hits_in_cache(double draws, double cached_rows) const;
  double harmonic(double rows) const;  ///< sum of i^-alpha for i = 1..rows, by Euler and Maclaurin
  double rows_;
  double alpha_;
  double total_;  ///< harmonic(rows)
};

}  // namespace distsim::opmodels
