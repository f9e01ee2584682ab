// The page of a sweep over serving experiments.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "sim/app/serving_sweep.hpp"
#include "sim/study/points/row.hpp"

namespace distsim::app {

/// Of one policy at one rate: the figures of a row, in their order, each of all policies and rates after the other.
struct ServingColumn {
  std::string_view name;  ///< in CSV files
  std::string_view head;  ///< on the page; empty: not shown there
};
inline constexpr ServingColumn kServingColumns[] = {{"offered_per_s", "offered/s"},
                                                    {"requests", "requests"},
                                                    {"mean_ms", "mean latency"},
                                                    {"p50_ms", "median"},
                                                    {"p90_ms", "90th percentile"},
                                                    {"p99_ms", "99th percentile"},
                                                    {"p999_ms", "99.9th percentile"},
                                                    {"makespan_ms", ""},
                                                    {"throughput_per_s", "served/s"},
                                                    {"goodput_per_s", "goodput/s"},
                                                    {"violations", "above deadline"},
                                                    {"utilisation", "GPUs busy"},
                                                    {"moves", ""},
                                                    {"batches", ""},
                                                    {"energy_j", ""},
                                                    {"saturates_at_per_s", ""}};
inline constexpr std::size_t kServingColumnCount = std::size(kServingColumns);
inline constexpr std::size_t kOffered = 0, kSaturation = kServingColumnCount - 1;

/// The swept keys as heads of a table for people: short, or whole where a figure is called so ("requests").
std::vector<std::string> heads_of_axes(const ServingSweep& sweep);

/// The components of every sweep's page (web/src/app): a figure over the swept keys and the policies, and the table.
/// `text`: what is printed, for readers without scripts.
std::string serving_sweep_page(const ServingSweep& sweep, const std::string& own_title, const study::Rows& rows,
                               const std::string& text);

}  // namespace distsim::app
