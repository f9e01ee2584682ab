#include <algorithm>
#include <string>

#include "sim/opgraph/kernels.hpp"

namespace distsim::opgraph {
namespace {

/// mm, bmm, addmm, baddbmm: columns of the first factor against rows of the second.
std::string of_product(const Call& call, std::size_t first) {
  if (!call.has(first + 1)) return "";
  const Dims a = call.in(first), b = call.in(first + 1);
  if (a.size() < 2 || b.size() < 2 || a.back() == b[b.size() - 2]) return "";
  return "found factors of " + text_of(a) + " and " + text_of(b) +
         ", expected as many rows of the second as columns of "
         "the first";
}

/// Batch, channels and filters of a convolution; how far it steps is the kernel's business.
std::string of_convolution(const Call& call) {
  if (!call.has(1) || call.outputs().empty()) return "";
  Dims image = call.in(0), result = call.out();
  const Dims filters = call.in(1);
  constexpr std::size_t kTransposed = 6;
  if (call.number_at(kTransposed, 0) != 0) std::swap(image, result);
  const std::size_t rank = filters.size();
  if (rank < 3 || image.size() != rank || result.size() != rank) return "";
  for (const Dims& dims : {image, filters, result})
    if (*std::ranges::min_element(dims) <= 0) return "";
  const bool agree = image[0] == result[0] && filters[0] == result[1] && image[1] % filters[1] == 0 &&
                     filters[0] % (image[1] / filters[1]) == 0;
  if (agree) return "";
  return "found an image of " + text_of(call.in(0)) + ", filters of " + text_of(filters) + " and a result of " +
         text_of(call.out()) + ", expected the same batch, and channels that agree";
}

}  // namespace

std::string contradiction_of(const Call& call) {
  const std::string_view op = base_name(call.node().op);
  if (op == "mm" || op == "bmm") return of_product(call, 0);
  if (op == "addmm" || op == "baddbmm") return of_product(call, 1);
  return op == "convolution" || op == "_convolution" ? of_convolution(call) : "";
}

}  // namespace distsim::opgraph
