#include "mpi_bench/collective/curve_output.hpp"

#include <google/protobuf/text_format.h>

#include "base/file.hpp"
#include "collectives/curve.pb.h"

namespace distsim::bench {

struct CurveOutput::Impl {
  std::string path;
  curves::CurveFile file;
  curves::Curve begun;          ///< facts of the current curve, without points
  bool in_file = false;         ///< its first point has put it into the file: a curve without points is no curve
};

CurveOutput::CurveOutput(std::string path, const CurveFileFacts& facts) : impl_(std::make_unique<Impl>()) {
  impl_->path = std::move(path);
  impl_->file.set_version(1);
  impl_->file.set_system(facts.system);
  impl_->file.set_device(facts.device);
  impl_->file.set_hardware(facts.hardware);
}

CurveOutput::~CurveOutput() = default;

void CurveOutput::begin(const CurveFacts& facts) {
  curves::Curve& curve = impl_->begun;
  curve.Clear();
  impl_->in_file = false;
  curve.set_kind(facts.kind);
  curve.set_ranks(static_cast<std::uint32_t>(facts.ranks));
  curve.set_nodes(static_cast<std::uint32_t>(facts.nodes));
  curve.set_launch("mpi");
  curve.set_cuda_graph(facts.cuda_graph);
  curve.set_library(facts.library);
  curve.set_settings(facts.settings);
  curve.set_date(facts.date);
  curve.set_source("collective_bench");
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
  point.set_time_us(s.median);
  point.set_low_us(s.p10);
  point.set_high_us(s.p90);
}

Result<void> CurveOutput::write(bool partial) {
  impl_->file.set_partial(partial);
  std::string text;
  const bool done = impl_->path.ends_with(".txtpb") ? google::protobuf::TextFormat::PrintToString(impl_->file, &text)
                                                    : impl_->file.SerializeToString(&text);
  CHECK(done);
  return write_file_atomically(impl_->path, text);
}

}  // namespace distsim::bench
