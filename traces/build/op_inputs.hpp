// Tables that keep equal argument lists and launch geometries once. Traces repeat them with every step.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "traces/trace.hpp"

namespace distsim::traces {

class OpInputTable {
 public:
  explicit OpInputTable(TraceJob& job) : job_(job) {}
  /// Index into TraceJob::inputs for Kineto's "Input Dims", "Input type" and "Concrete Inputs", JSON arrays as written.
  /// kNone where they cannot be read. Likewise the outputs, which execution traces have, and the inputs' "Input Strides".
  std::uint32_t intern(std::string_view dims, std::string_view types, std::string_view values,
                       std::string_view out_dims = "", std::string_view out_types = "", std::string_view strides = "");

 private:
  TraceJob& job_;
  std::string key_;
  std::unordered_map<std::string, std::uint32_t> known_;
};

class GeometryTable {
 public:
  explicit GeometryTable(TraceJob& job) : job_(job) {}
  /// Index into TraceJob::geometries; `grid` and `block` as "[x, y, z]".
  std::uint32_t intern(KernelGeometry geometry, std::string_view grid, std::string_view block);
  std::uint32_t intern(const KernelGeometry& geometry);

 private:
  TraceJob& job_;
  std::unordered_map<std::string, std::uint32_t> known_;
};

/// Elements and type of `tensors` together, all or those of one argument; false where they are not known.
bool total_elements(const std::vector<TensorShape>& tensors, std::optional<std::uint32_t> argument,
                    std::int64_t& elements, graph::DType& dtype);

}  // namespace distsim::traces
