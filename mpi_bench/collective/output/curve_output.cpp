#include "mpi_bench/collective/output/curve_output.hpp"

#include <google/protobuf/text_format.h>

#include "base/file.hpp"
#include "base/fnv.hpp"
#include "collectives/curve_file/curve.pb.h"
#include "collectives/curve_file/curve_checksum.hpp"
#include "collectives/curve_file/curve_strings.hpp"

namespace distsim::bench {

namespace {

void fill(curves::Statistics& out, const Measured& m) {
  const Summary& s = m.iterations;
  out.set_samples(static_cast<std::uint32_t>(s.count));
  out.set_calls_each(static_cast<std::uint32_t>(m.calls_each));
  out.set_mean_us(m.time_us);
  out.set_median_us(s.median);
  out.set_mad_us(s.mad);
  out.set_p5_us(s.p5);
  out.set_p10_us(s.p10);
  out.set_p90_us(s.p90);
  out.set_p95_us(s.p95);
  out.set_min_us(s.min);
  out.set_max_us(s.max);
  out.set_noisy(m.noisy);
  out.set_rank_min_us(m.ranks.medians.min);
  out.set_rank_max_us(m.ranks.medians.max);
  out.set_slowest_rank(static_cast<std::uint32_t>(m.ranks.slowest));
  out.set_arrival_skew_us(m.ranks.arrival_us);
}

}  // namespace

struct CurveOutput::Impl {
  std::string path;
  curves::CurveFile file;
  curves::Curve begun;  ///< facts of the current curve, without points
  CurveTime time = CurveTime::median;
  bool in_file = false;  ///< its first point has put it into the file: a curve without points is no curve
};

CurveOutput::CurveOutput(std::string path, const CurveFileFacts& facts) : impl_(std::make_unique<Impl>()) {
  impl_->path = std::move(path);
  impl_->file.set_version(1);
  impl_->file.set_system(facts.system);
  impl_->file.set_device(facts.device);
  impl_->file.set_hardware(facts.hardware);
  for (const std::string& host : facts.hosts) impl_->file.add_hosts(host);
  impl_->file.set_driver(facts.driver);
  impl_->file.set_topology(facts.topology);
  impl_->file.set_flags(facts.flags);
  if (facts.clocks == MachineClocks{}) return;
  curves::Clocks& clocks = *impl_->file.mutable_clocks();
  clocks.set_sm_mhz(facts.clocks.sm_mhz);
  clocks.set_memory_mhz(facts.clocks.memory_mhz);
  clocks.set_cpu_locked_mhz(facts.clocks.cpu_locked_mhz);
}

CurveOutput::~CurveOutput() = default;

void CurveOutput::begin(const CurveFacts& facts) {
  curves::Curve& curve = impl_->begun;
  curve.Clear();
  impl_->in_file = false;
  impl_->time = facts.time;
  curve.set_kind(facts.kind);
  curve.set_ranks(static_cast<std::uint32_t>(facts.ranks));
  curve.set_nodes(static_cast<std::uint32_t>(facts.nodes));
  curve.set_launch(facts.single_process ? "single_process" : "mpi");
  curve.set_cuda_graph(facts.cuda_graph);
  curve.set_library(facts.library);
  curve.set_settings(facts.settings);
  curve.set_date(facts.date);
  curve.set_source("collective_bench");
  curve.set_group(facts.group);
  curve.set_groups_at_once(static_cast<std::uint32_t>(facts.groups_at_once));
  curve.set_not_used(facts.not_used);
}

void CurveOutput::add(const Row& row) {
  auto& curves = *impl_->file.mutable_curves();
  const std::uint64_t last = impl_->in_file ? curves.rbegin()->points().rbegin()->bytes() : 0;
  if (row.bytes <= last || !row.out_of_place) return;
  if (!impl_->in_file) *curves.Add() = impl_->begun;
  impl_->in_file = true;
  const Summary& s = row.out_of_place->iterations;
  curves::Point& point = *curves.rbegin()->add_points();
  point.set_bytes(row.bytes);
  point.set_time_us(impl_->time == CurveTime::p10 ? s.p10 : s.median);
  point.set_low_us(s.p10);
  point.set_high_us(s.p90);
  fill(*point.mutable_statistics(), *row.out_of_place);
  if (row.in_place) fill(*point.mutable_in_place(), *row.in_place);
}

Result<void> CurveOutput::write(bool partial) {
  impl_->file.set_partial(partial);
  impl_->file.set_curve_count(static_cast<std::uint32_t>(impl_->file.curves_size()));
  curves::make_utf8(impl_->file);
  impl_->file.set_checksum(curves::checksum_of(impl_->file));
  std::string text;
  const bool done = impl_->path.ends_with(".txtpb") ? google::protobuf::TextFormat::PrintToString(impl_->file, &text)
                                                    : impl_->file.SerializeToString(&text);
  CHECK(done);
  return write_file_atomically(impl_->path, text);
}

std::string hashed_host(const std::string& name) {
  char text[16];
  std::snprintf(text, sizeof text, "node-%08x", fnv32(name));
  return text;
}

}  // namespace distsim::bench
