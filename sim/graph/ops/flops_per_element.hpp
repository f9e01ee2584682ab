// What a function of one element costs on the plain lanes of a GPU, in operations: the `flops` of kernels that stream.
// One table, so that the same function is asked alike by model families, captured graphs and tables of measured ops.
// Instructions of CUDA's approximations, slow ones (a quarter of the rate) counted as four. GELU is bound by them nowhere
// that was measured: V100 in 16 bits takes 5.5 ps an element, at most 87 operations.
#pragma once

namespace distsim::graph {

inline constexpr double kSpecialFlops = 20;      ///< exp, tanh, pow, sigmoid, SiLU
inline constexpr double kErfFlops = 30;          ///< erf, GELU
inline constexpr double kErfGradFlops = 60;      ///< of GELU: erf and the density beside it
inline constexpr double kLogisticGradFlops = 3;  ///< of sigmoid and tanh, from their results
inline constexpr double kRandomFlops = 10;       ///< a Philox number

}  // namespace distsim::graph
