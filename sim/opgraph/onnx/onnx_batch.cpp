// Which dimension of a model's inputs is the batch.
#include <algorithm>

#include "base/text/lower_case.hpp"
#include "base/text/printable.hpp"
#include "sim/opgraph/onnx/onnx_reader.hpp"

namespace distsim::opgraph {
namespace {

/// How much a dynamic dimension's name says that it is the batch: "batch_size", then "N", "b", "bs"; 0: nothing.
int batch_likeness(const std::string& name) {
  const std::string lower = lower_case(name);
  if (lower.find("batch") != lower.npos) return 2;
  return lower == "n" || lower == "b" || lower == "bs" ? 1 : 0;
}

std::string own_name(const onnx::Dimension& dim, const std::string& input, int place) {
  return dim.dim_param().empty() ? input + "." + std::to_string(place) : dim.dim_param();
}

bool is_recurrent(std::string_view op) { return op == "LSTM" || op == "GRU" || op == "RNN"; }

}  // namespace

/// Whether a recurrent layer reads the input as steps, samples, features (layout 0).
bool OnnxLowering::is_time_major(const std::string& input) const {
  return std::ranges::any_of(onnx_.node(), [&](const onnx::Node& n) {
    const bool steps_first = std::ranges::none_of(
        n.attribute(), [](const onnx::Attribute& a) { return a.name() == "layout" && a.i() == 1; });
    return is_recurrent(n.op_type()) && n.input_size() > 0 && n.input(0) == input && steps_first;
  });
}

/// Samples in an input of known sizes.
std::int64_t OnnxLowering::batch_of(const Dims& dims, const std::string& input) const {
  const std::size_t place = is_time_major(input) && dims.size() == 3 ? 1 : 0;
  return dims.empty() ? 1 : std::max<std::int64_t>(1, dims[place]);
}

/// For messages with sizes: a model that serves any batch is looked at with a few, whatever was asked for.
std::string OnnxLowering::with_samples() const {
  return any_batch_ ? ", looked at with a batch of " + std::to_string(samples_) : "";
}

/// The batch is the dynamic dimension that is named like one; else the second of an input that a recurrent layer reads step
/// by step. Where there is neither, size_of() takes the first of the first input. Not one whose size was given.
void OnnxLowering::find_batch() {
  int best = 0;
  std::string second;
  for (const onnx::ValueInfo& input : onnx_.input()) {
    const auto& dims = input.type().tensor_type().shape().dim();
    const bool steps_first = dims.size() == 3 && is_time_major(input.name());
    for (int place = 0; place < dims.size() && !values_.contains(input.name()); ++place) {
      const std::string name = own_name(dims[place], input.name(), place);
      if (dims[place].has_dim_value() || options_.dimensions.contains(name)) continue;
      const int likeness = batch_likeness(dims[place].dim_param());
      if (likeness > best) best = likeness, batch_name_ = name;
      if (steps_first && place == 1 && second.empty()) second = name;
    }
  }
  if (best == 0) batch_name_ = second;
}

/// A dynamic dimension is the batch, or has a size among those that were given.
Result<std::int64_t> OnnxLowering::size_of(const onnx::Dimension& dim, const std::string& input, int place) {
  if (dim.has_dim_value()) return dim.dim_value();
  const std::string own = own_name(dim, input, place);
  if (const auto given = options_.dimensions.find(own); given != options_.dimensions.end()) return given->second;
  if (batch_name_.empty() && batch_ == 0 && place == 0) {
    batch_name_ = own;
    if (!dim.dim_param().empty())
      graph_.remarks.push_back("the batch is taken to be " + in_quotes(own, 120) + ", dimension 0 of input " +
                               in_quotes(input, 120));
  }
  if (own == batch_name_) {
    any_batch_ = true;
    return samples_;
  }
  return Error{"input " + in_quotes(input) + ": dimension " + std::to_string(place) + ", " + in_quotes(own) +
                   ", is dynamic, expected its size as model.graph.dimensions",
               graph_.file, "dimensions: {" + printable(own) + ": 128}"};
}

}  // namespace distsim::opgraph
