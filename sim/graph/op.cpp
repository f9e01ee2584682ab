#include "sim/graph/op.hpp"

#include <array>
#include <utility>

namespace distsim::graph {

Op default_op(std::size_t index) {
  CHECK(index < kOpKinds) << "op kind " << index;
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    constexpr std::array<Op (*)(), kOpKinds> kMakers{[]() -> Op { return Op(std::in_place_index<I>); }...};
    return kMakers[index]();
  }
  (std::make_index_sequence<kOpKinds>());
}

std::string_view kind_of(const Op& op) {
  return std::visit([](const auto& shape) { return shape.kKind; }, op);
}

Work work_of(const Op& op) {
  return std::visit([](const auto& shape) { return shape.kWork; }, op);
}

bool has_kernels(const Op& op) { return work_of(op) == Work::kernel || work_of(op) == Work::given; }

double flops_of(const Op& op) {
  return std::visit(
      [](const auto& shape) -> double {
        if constexpr (requires { shape.useful_flops(); })
          return shape.useful_flops();
        else
          return 0;
      },
      op);
}

}  // namespace distsim::graph
