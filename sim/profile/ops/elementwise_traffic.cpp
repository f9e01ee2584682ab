#include "sim/profile/ops/elementwise_traffic.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace distsim::profile {
namespace {

/// Which tensor an op writes.
enum class Writes : std::uint8_t {
  result,      ///< a new one, or one behind its inputs (`out=`)
  first,       ///< its first input, which it reads as well
  over_first,  ///< its first argument, of which it reads nothing
  all,         ///< a new one as large as all inputs together, or `out=`
};

struct ElementwiseOp {
  std::string_view name;
  std::size_t inputs = 1;  ///< tensors that it takes, without a destination; more have dimensions only as `out`
  Writes writes = Writes::result;
};

constexpr std::array kOps{std::to_array<ElementwiseOp>({
    {"add", 2},
    {"sub", 2},
    {"mul", 2},
    {"div", 2},
    {"pow", 2},
    {"maximum", 2},
    {"minimum", 2},
    {"clamp_min", 2},
    {"clamp_max", 2},
    {"clamp", 3},
    {"where", 3},
    {"addcmul", 3},
    {"addcdiv", 3},
    {"lerp", 3},
    {"relu"},
    {"gelu"},
    {"silu"},
    {"sigmoid"},
    {"tanh"},
    {"exp"},
    {"log"},
    {"sqrt"},
    {"rsqrt"},
    {"reciprocal"},
    {"neg"},
    {"abs"},
    {"sin"},
    {"cos"},
    {"gelu_backward", 2},
    {"silu_backward", 2},
    {"sigmoid_backward", 2},
    {"tanh_backward", 2},
    {"threshold_backward", 2},
    {"add_", 2, Writes::first},
    {"sub_", 2, Writes::first},
    {"mul_", 2, Writes::first},
    {"div_", 2, Writes::first},
    {"pow_", 2, Writes::first},
    {"clamp_min_", 2, Writes::first},
    {"clamp_max_", 2, Writes::first},
    {"clamp_", 3, Writes::first},
    {"addcmul_", 3, Writes::first},
    {"addcdiv_", 3, Writes::first},
    {"lerp_", 3, Writes::first},
    {"relu_", 1, Writes::first},
    {"gelu_", 1, Writes::first},
    {"silu_", 1, Writes::first},
    {"sigmoid_", 1, Writes::first},
    {"tanh_", 1, Writes::first},
    {"exp_", 1, Writes::first},
    {"log_", 1, Writes::first},
    {"sqrt_", 1, Writes::first},
    {"rsqrt_", 1, Writes::first},
    {"reciprocal_", 1, Writes::first},
    {"neg_", 1, Writes::first},
    {"abs_", 1, Writes::first},
    {"copy_", 2, Writes::over_first},
    {"fill_", 2, Writes::over_first},
    {"zero_", 1, Writes::over_first},
    {"normal_", 1, Writes::over_first},
    {"uniform_", 1, Writes::over_first},
    {"random_", 1, Writes::over_first},
    {"bernoulli_", 2, Writes::over_first},
    {"exponential_", 1, Writes::over_first},
    {"log_normal_", 1, Writes::over_first},
    {"cauchy_", 1, Writes::over_first},
    {"geometric_", 1, Writes::over_first},
    {"cat", 1, Writes::all},
})};

double elements(const traces::TensorShape& t) {
  double n = 1;
  for (const std::int64_t d : t.dims) n *= static_cast<double>(std::max<std::int64_t>(0, d));
  return n;
}

double memory_bytes(const traces::TensorShape& t) {
  return element_bytes(t) * (t.in_memory >= 0 ? static_cast<double>(t.in_memory) : elements(t));
}

/// Elements of the shape that tensors have together.
double broadcast_elements(const std::vector<const traces::TensorShape*>& tensors) {
  std::vector<std::int64_t> largest;  // of each dimension, from the last on
  for (const traces::TensorShape* t : tensors) {
    largest.resize(std::max(largest.size(), t->dims.size()), 1);
    for (std::size_t i = 0; i < t->dims.size(); ++i) {
      std::int64_t& d = largest[i];
      const std::int64_t own = t->dims[t->dims.size() - 1 - i];
      if (own != 1) d = own;  // 0 makes it empty
    }
  }
  double n = tensors.empty() ? 0 : 1;
  for (const std::int64_t d : largest) n *= static_cast<double>(std::max<std::int64_t>(0, d));
  return n;
}

struct ElementwiseTensors {
  std::vector<const traces::TensorShape*> read;
  const traces::TensorShape* written = nullptr;  ///< null: a new one
};

ElementwiseTensors split(const ElementwiseOp& op, const traces::OpInputs& in) {
  ElementwiseTensors out;
  bool list_over = false;  // the tensors of a list are followed by a dimension
  for (std::size_t i = 0; i < in.tensors.size(); ++i) {
    const traces::TensorShape& t = in.tensors[i];
    list_over = list_over || t.dims.empty();
    if (t.dims.empty()) continue;
    const bool destination = op.writes == Writes::all ? list_over : i >= op.inputs;
    if (destination || (i == 0 && (op.writes == Writes::first || op.writes == Writes::over_first))) out.written = &t;
    if (!destination && (i > 0 || op.writes != Writes::over_first)) out.read.push_back(&t);
  }
  if (out.written == nullptr && !in.outputs.empty() && !in.outputs[0].dims.empty()) out.written = &in.outputs[0];
  return out;
}

}  // namespace

OpWork elementwise_traffic(std::string_view name, const traces::OpInputs& in) {
  const auto* op = std::ranges::find(kOps, name, &ElementwiseOp::name);
  if (op == kOps.end()) return {};
  const ElementwiseTensors tensors = split(*op, in);
  double written = 0, read = 0, widest = 0, largest_known = 0, total = 0;
  for (const traces::TensorShape* t : tensors.read) {
    read += memory_bytes(*t);
    total += elements(*t) * element_bytes(*t);
    widest = std::max(widest, element_bytes(*t));
    const bool in_full = t->in_memory >= 0 || (op->writes == Writes::first && t == tensors.written);
    if (in_full) largest_known = std::max(largest_known, memory_bytes(*t));
  }
  if (tensors.written != nullptr)
    written = elements(*tensors.written) * element_bytes(*tensors.written);
  else
    written = op->writes == Writes::all ? total : widest * broadcast_elements(tensors.read);
  return {0, read + written, written + largest_known};
}

}  // namespace distsim::profile
