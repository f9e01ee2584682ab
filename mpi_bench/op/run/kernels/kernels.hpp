// Our own kernels. Launches are asynchronous on `stream` and return what the launch says. Arrays are row-major, 16-byte
// aligned and not empty.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace distsim::bench {

enum class ElementType : std::uint8_t { fp32, fp16, bf16 };
enum class VectorOp : std::uint8_t { add, mul, relu, gelu };

/// Fills with reproducible values in (-1, 1), so that no kernel runs on zeros (a GPU draws less power on them and
/// clocks higher).
cudaError_t launch_fill(ElementType type, void* out, std::int64_t count, std::uint32_t seed, cudaStream_t stream);

/// out = a op b; `b` is not read by relu and gelu. Arithmetic in fp32.
cudaError_t launch_vector(VectorOp op, ElementType type, const void* a, const void* b, void* out, std::int64_t count,
                          cudaStream_t stream);

/// out[r] = (in[r] - mean) / sqrt(variance + 1e-5) per row; statistics in fp32.
cudaError_t launch_layer_norm(ElementType type, const void* in, void* out, std::int64_t rows, std::int64_t cols,
                              cudaStream_t stream);

/// out[r] = exp(in[r] - max) / sum per row; in fp32.
cudaError_t launch_softmax(ElementType type, const void* in, void* out, std::int64_t rows, std::int64_t cols,
                           cudaStream_t stream);

/// Gradient of launch_layer_norm(x) * weight + bias with a weight of 1: dx for the data, and the sums over rows of dy *
/// normalised x and of dy for weight and bias. `sums` holds 2 x (rows + cols) floats: mean and 1 / deviation of each
/// row, then the two gradients of each column.
cudaError_t launch_layer_norm_backward(ElementType type, const void* x, const void* dy, void* dx, float* sums,
                                       std::int64_t rows, std::int64_t cols, cudaStream_t stream);

/// dx[r] = y[r] * (dy[r] - sum(y[r] * dy[r])); in fp32.
cudaError_t launch_softmax_backward(ElementType type, const void* y, const void* dy, void* dx, std::int64_t rows,
                                    std::int64_t cols, cudaStream_t stream);

/// Training forward over rows x channels, channels innermost: statistics of each channel in fp32, then (x - mean) /
/// sqrt(variance + 1e-5). `sums` holds 2 x channels floats of scratch.
cudaError_t launch_batch_norm(ElementType type, const void* in, void* out, float* sums, std::int64_t rows,
                              std::int64_t channels, cudaStream_t stream);

/// out[b] = (in[b, 0, :], in[b, i, :] . in[b, j, :] for j < i); in is batch x features x dim. features x dim floats fit
/// in 48 KiB; sums in fp32.
cudaError_t launch_interaction(ElementType type, const void* in, void* out, std::int64_t batch, int features, int dim,
                               cudaStream_t stream);

/// One kernel over `tensors` arrays of `count` fp32 each, by tables of their addresses on the device. Adam reads and
/// writes both moments.
struct OptimizerArrays {
  float *const *weights, *const *gradients, *const *first, *const *second;
};
cudaError_t launch_sgd(const OptimizerArrays& arrays, int tensors, std::int64_t count, float rate, cudaStream_t stream);
cudaError_t launch_adam(const OptimizerArrays& arrays, int tensors, std::int64_t count, float rate,
                        cudaStream_t stream);

/// Bags of equal length: out[bag, :] = sum over l of weights[indices[bag * pooling + l], :]. Indices name rows of all
/// tables laid end to end. dim is a multiple of 4; types fp32 and fp16, sums in fp32.
cudaError_t launch_embedding_forward(ElementType type, const void* weights, const std::int64_t* indices, void* out,
                                     std::int64_t bags, std::int64_t pooling, std::int64_t dim, cudaStream_t stream);

/// Gradient and SGD in one: weights[indices[bag * pooling + l], :] -= rate * grad[bag, :], with atomics (rows that
/// repeat are hit repeatedly).
cudaError_t launch_embedding_backward_sgd(ElementType type, void* weights, const std::int64_t* indices,
                                          const void* grad, float rate, std::int64_t bags, std::int64_t pooling,
                                          std::int64_t dim, cudaStream_t stream);

}  // namespace distsim::bench
