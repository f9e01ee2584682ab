#include "sim/opgraph/kernels.hpp"

#include <algorithm>
#include <array>

#include "sim/opgraph/makers.hpp"

namespace distsim::opgraph {
namespace {

struct Entry {
  std::string_view name;
  Maker make;  ///< null: launches nothing
  double flops = 1;
  Autocast autocast = Autocast::widest;
};

constexpr double kSpecial =
    20;  // flops of exp, tanh, ... on the plain lanes, as opmodels/analytic/elementwise.cpp counts
constexpr double kErf = 30;
constexpr double kRandom = 10;  // of a Philox number
constexpr Autocast kNarrow = Autocast::narrow, kFp32 = Autocast::fp32;

constexpr Entry kProducts[] = {
    {"mm", make_matmul, 0, kNarrow},
    {"bmm", make_matmul, 0, kNarrow},
    {"matmul", make_matmul, 0, kNarrow},
    {"mv", make_matmul, 0, kNarrow},
    {"dot", make_matmul, 0, kNarrow},
    {"_scaled_mm", make_matmul, 0, kNarrow},
    {"addmm", make_matmul_first, 0, kNarrow},
    {"_addmm_activation", make_matmul_first, 0, kNarrow},
    {"addmv", make_matmul_first, 0, kNarrow},
    {"baddbmm", make_matmul_first, 0, kNarrow},
    {"linear", make_linear, 0, kNarrow},
    {"_cudnn_rnn", make_recurrent, 0, kNarrow},
    {"miopen_rnn", make_recurrent, 0, kNarrow},
    {"_cudnn_rnn_backward", make_recurrent_backward, 0, kNarrow},
    {"scaled_dot_product_attention", make_attention, 0, kNarrow},
    {"_scaled_dot_product_attention", make_attention, 0, kNarrow},
    {"_scaled_dot_product_flash_attention", make_attention, 0, kNarrow},
    {"_scaled_dot_product_flash_attention_for_cpu", make_attention, 0, kNarrow},
    {"_scaled_dot_product_efficient_attention", make_attention, 0, kNarrow},
    {"_scaled_dot_product_cudnn_attention", make_attention, 0, kNarrow},
    {"_scaled_dot_product_flash_attention_backward", make_attention_backward, 0, kNarrow},
    {"_scaled_dot_product_efficient_attention_backward", make_attention_backward, 0, kNarrow},
    {"_scaled_dot_product_cudnn_attention_backward", make_attention_backward, 0, kNarrow},
};

constexpr Entry kConvolutions[] = {
    {"convolution", make_convolution, 0, kNarrow},
    {"_convolution", make_convolution, 0, kNarrow},
    {"convolution_overrideable", make_convolution, 0, kNarrow},
    {"conv1d", make_convolution, 0, kNarrow},
    {"conv2d", make_convolution, 0, kNarrow},
    {"conv3d", make_convolution, 0, kNarrow},
    {"conv_transpose1d", make_convolution, 0, kNarrow},
    {"conv_transpose2d", make_convolution, 0, kNarrow},
    {"conv_transpose3d", make_convolution, 0, kNarrow},
    {"cudnn_convolution", make_convolution, 0, kNarrow},
    {"cudnn_convolution_relu", make_convolution, 0, kNarrow},
    {"cudnn_convolution_add_relu", make_convolution, 0, kNarrow},
    {"cudnn_convolution_transpose", make_convolution, 0, kNarrow},
    {"miopen_convolution", make_convolution, 0, kNarrow},
    {"miopen_depthwise_convolution", make_convolution, 0, kNarrow},
    {"conv_depthwise3d", make_convolution, 0, kNarrow},
    {"_conv_depthwise2d", make_convolution, 0, kNarrow},
    {"slow_conv2d_forward", make_convolution, 0, kNarrow},
    {"_slow_conv2d_forward", make_convolution, 0, kNarrow},
    {"convolution_backward", make_convolution_backward, 0, kNarrow},
    {"convolution_backward_overrideable", make_convolution_backward, 0, kNarrow},
    {"cudnn_convolution_backward", make_convolution_backward_cudnn, 0, kNarrow},
};

constexpr Entry kRows[] = {
    {"native_layer_norm", make_layer_norm, 0, kFp32},
    {"layer_norm", make_layer_norm, 0, kFp32},
    {"native_layer_norm_backward", make_layer_norm_backward, 0, kFp32},
    {"_fused_rms_norm", make_rms_norm, 0, kFp32},
    {"rms_norm", make_rms_norm, 0, kFp32},
    {"_fused_rms_norm_backward", make_rms_norm_backward, 0, kFp32},
    {"native_group_norm", make_group_norm, 0, kFp32},
    {"native_group_norm_backward", make_group_norm_backward, 0, kFp32},
    {"native_batch_norm", make_batch_norm},
    {"_native_batch_norm_legit", make_batch_norm},
    {"_native_batch_norm_legit_functional", make_batch_norm},
    {"_native_batch_norm_legit_no_training", make_batch_norm},
    {"_batch_norm_with_update", make_batch_norm},
    {"_batch_norm_with_update_functional", make_batch_norm},
    {"cudnn_batch_norm", make_batch_norm},
    {"miopen_batch_norm", make_batch_norm},
    {"native_batch_norm_backward", make_batch_norm_backward},
    {"batch_norm_backward", make_batch_norm_backward},
    {"cudnn_batch_norm_backward", make_batch_norm_backward},
    {"miopen_batch_norm_backward", make_batch_norm_backward},
    {"_softmax", make_softmax, 0, kFp32},
    {"_log_softmax", make_softmax, 0, kFp32},
    {"_masked_softmax", make_softmax, 0, kFp32},
    {"_safe_softmax", make_softmax, 0, kFp32},
    {"_softmax_backward_data", make_softmax_backward, 0, kFp32},
    {"_log_softmax_backward_data", make_softmax_backward, 0, kFp32},
    {"_masked_softmax_backward", make_softmax_backward, 0, kFp32},
    // Autograd functions of Megatron-LM and Apex.
    {"FusedLayerNormAffineFunction", make_fused_layer_norm, 0, kFp32},
    {"FusedLayerNormFunction", make_fused_layer_norm, 0, kFp32},
    {"FastLayerNormFN", make_fused_layer_norm, 0, kFp32},
    {"FusedRMSNormAffineFunction", make_fused_rms_norm, 0, kFp32},
    {"ScaledUpperTriangMaskedSoftmax", make_softmax, 0, kFp32},
    {"ScaledMaskedSoftmax", make_softmax, 0, kFp32},
    {"ScaledSoftmax", make_softmax, 0, kFp32},
    {"embedding", make_embedding},
    {"embedding_dense_backward", make_embedding_backward},
    {"_embedding_bag", make_embedding_bag},
    {"_embedding_bag_forward_only", make_embedding_bag},
    {"_embedding_bag_backward", make_embedding_bag_backward},
    {"_embedding_bag_dense_backward", make_embedding_bag_backward},
};

/// Arguments once, results once.
constexpr Entry kPointwise[] = {
    {"add", make_pointwise, 1},
    {"sub", make_pointwise, 1},
    {"rsub", make_pointwise, 1},
    {"mul", make_pointwise, 1},
    {"div", make_pointwise, 4},
    {"true_divide", make_pointwise, 4},
    {"floor_divide", make_pointwise, 4},
    {"remainder", make_pointwise, 4},
    {"fmod", make_pointwise, 4},
    {"neg", make_pointwise, 1},
    {"abs", make_pointwise, 1},
    {"sign", make_pointwise, 1},
    {"sgn", make_pointwise, 1},
    {"ceil", make_pointwise, 1},
    {"floor", make_pointwise, 1},
    {"round", make_pointwise, 1},
    {"trunc", make_pointwise, 1},
    {"frac", make_pointwise, 1},
    {"square", make_pointwise, 1},
    {"sqrt", make_pointwise, 4},
    {"rsqrt", make_pointwise, 4, kFp32},
    {"reciprocal", make_pointwise, 4, kFp32},
    {"exp", make_pointwise, kSpecial, kFp32},
    {"exp2", make_pointwise, kSpecial, kFp32},
    {"expm1", make_pointwise, kSpecial, kFp32},
    {"log", make_pointwise, kSpecial, kFp32},
    {"log1p", make_pointwise, kSpecial, kFp32},
    {"log2", make_pointwise, kSpecial, kFp32},
    {"log10", make_pointwise, kSpecial, kFp32},
    {"pow", make_pointwise, kSpecial, kFp32},
    {"sin", make_pointwise, kSpecial},
    {"cos", make_pointwise, kSpecial},
    {"tan", make_pointwise, kSpecial, kFp32},
    {"asin", make_pointwise, kSpecial, kFp32},
    {"acos", make_pointwise, kSpecial, kFp32},
    {"atan", make_pointwise, kSpecial},
    {"atan2", make_pointwise, kSpecial},
    {"sinh", make_pointwise, kSpecial, kFp32},
    {"cosh", make_pointwise, kSpecial, kFp32},
    {"tanh", make_pointwise, kSpecial},
    {"erf", make_pointwise, kErf},
    {"erfc", make_pointwise, kErf},
    {"erfinv", make_pointwise, kErf, kFp32},
    {"sigmoid", make_pointwise, kSpecial},
    {"log_sigmoid_forward", make_pointwise, kSpecial},
    {"logit", make_pointwise, kSpecial},
    {"relu", make_pointwise, 1},
    {"relu6", make_pointwise, 2},
    {"prelu", make_pointwise, 2},
    {"_prelu_kernel", make_pointwise, 2},
    {"leaky_relu", make_pointwise, 2},
    {"elu", make_pointwise, kSpecial},
    {"celu", make_pointwise, kSpecial},
    {"selu", make_pointwise, kSpecial},
    {"gelu", make_pointwise, kErf},
    {"silu", make_pointwise, kSpecial},
    {"mish", make_pointwise, 2 * kSpecial},
    {"softplus", make_pointwise, kSpecial, kFp32},
    {"hardtanh", make_pointwise, 2},
    {"hardsigmoid", make_pointwise, 4},
    {"hardswish", make_pointwise, 5},
    {"softshrink", make_pointwise, 2},
    {"hardshrink", make_pointwise, 2},
    {"threshold", make_pointwise, 1},
    {"glu", make_pointwise, kSpecial},
    {"clamp", make_pointwise, 2},
    {"clamp_min", make_pointwise, 1},
    {"clamp_max", make_pointwise, 1},
    {"clip", make_pointwise, 2},
    {"nan_to_num", make_pointwise, 3},
    {"where", make_pointwise, 1},
    {"masked_fill", make_pointwise, 1},
    {"lerp", make_pointwise, 3},
    {"addcmul", make_pointwise, 3},
    {"addcdiv", make_pointwise, 6},
    {"maximum", make_pointwise, 1},
    {"minimum", make_pointwise, 1},
    {"fmax", make_pointwise, 1},
    {"fmin", make_pointwise, 1},
    {"eq", make_pointwise, 1},
    {"ne", make_pointwise, 1},
    {"lt", make_pointwise, 1},
    {"le", make_pointwise, 1},
    {"gt", make_pointwise, 1},
    {"ge", make_pointwise, 1},
    {"isnan", make_pointwise, 1},
    {"isinf", make_pointwise, 1},
    {"isfinite", make_pointwise, 1},
    {"logical_and", make_pointwise, 1},
    {"logical_or", make_pointwise, 1},
    {"logical_xor", make_pointwise, 1},
    {"logical_not", make_pointwise, 1},
    {"bitwise_and", make_pointwise, 1},
    {"bitwise_or", make_pointwise, 1},
    {"bitwise_xor", make_pointwise, 1},
    {"bitwise_not", make_pointwise, 1},
    {"__and__", make_pointwise, 1},
    {"__or__", make_pointwise, 1},
    {"tril", make_pointwise, 1},
    {"triu", make_pointwise, 1},
    {"flip", make_pointwise, 0},
    {"roll", make_pointwise, 0},
    {"repeat", make_pointwise, 0},
    {"repeat_interleave", make_pointwise, 0},
    {"constant_pad_nd", make_pointwise, 0},
    {"reflection_pad1d", make_pointwise, 0},
    {"reflection_pad2d", make_pointwise, 0},
    {"replication_pad1d", make_pointwise, 0},
    {"replication_pad2d", make_pointwise, 0},
    {"pixel_shuffle", make_pointwise, 0},
    {"pixel_unshuffle", make_pointwise, 0},
    {"channel_shuffle", make_pointwise, 0},
    {"im2col", make_pointwise, 0},
    {"col2im", make_pointwise, 1},
    {"upsample_nearest1d", make_pointwise, 2},
    {"upsample_nearest2d", make_pointwise, 2},
    {"upsample_nearest3d", make_pointwise, 2},
    {"upsample_bilinear2d", make_pointwise, 10},
    {"upsample_bicubic2d", make_pointwise, 50},
    {"upsample_linear1d", make_pointwise, 5},
    {"upsample_trilinear3d", make_pointwise, 20},
    {"grid_sampler_2d", make_pointwise, 20},
    {"native_dropout", make_pointwise, kRandom},
    {"_fused_dropout", make_pointwise, kRandom},
    {"native_dropout_backward", make_pointwise, 2},
    {"masked_scale", make_pointwise, 2},
    {"_masked_scale", make_pointwise, 2},
    {"threshold_backward", make_pointwise, 1},
    {"tanh_backward", make_pointwise, 3},
    {"sigmoid_backward", make_pointwise, 3},
    {"gelu_backward", make_pointwise, kErf},
    {"silu_backward", make_pointwise, kSpecial},
    {"mish_backward", make_pointwise, 2 * kSpecial},
    {"elu_backward", make_pointwise, kSpecial},
    {"glu_backward", make_pointwise, kSpecial},
    {"leaky_relu_backward", make_pointwise, 2},
    {"_prelu_kernel_backward", make_pointwise, 3},
    {"hardtanh_backward", make_pointwise, 2},
    {"hardsigmoid_backward", make_pointwise, 3},
    {"hardswish_backward", make_pointwise, 5},
    {"softplus_backward", make_pointwise, kSpecial, kFp32},
    {"log_sigmoid_backward", make_pointwise, kSpecial},
    {"logit_backward", make_pointwise, 5},
    {"upsample_nearest2d_backward", make_pointwise, 2},
    {"upsample_bilinear2d_backward", make_pointwise, 10},
    {"upsample_bicubic2d_backward", make_pointwise, 50},
    {"reflection_pad2d_backward", make_pointwise, 1},
    {"max_pool2d", make_pointwise, 9},
    {"cudnn_max_pool2d", make_pointwise, 9},
    {"max_pool2d_with_indices", make_pointwise, 9},
    {"max_pool3d_with_indices", make_pointwise, 27},
    {"max_pool2d_with_indices_backward", make_pointwise, 2},
    {"max_pool3d_with_indices_backward", make_pointwise, 2},
    {"avg_pool1d", make_pointwise, 4},
    {"avg_pool2d", make_pointwise, 9},
    {"avg_pool3d", make_pointwise, 27},
    {"avg_pool2d_backward", make_pointwise, 9},
    {"avg_pool3d_backward", make_pointwise, 27},
    {"_adaptive_avg_pool2d", make_pointwise, 1},
    {"_adaptive_avg_pool2d_backward", make_pointwise, 1},
    {"_adaptive_avg_pool3d", make_pointwise, 1},
    {"_adaptive_avg_pool3d_backward", make_pointwise, 1},
    {"adaptive_max_pool2d", make_pointwise, 1},
    {"adaptive_max_pool2d_backward", make_pointwise, 1},
    {"mse_loss", make_pointwise, 3, kFp32},
    {"mse_loss_backward", make_pointwise, 3, kFp32},
    {"l1_loss", make_pointwise, 2, kFp32},
    {"smooth_l1_loss", make_pointwise, 5, kFp32},
    {"smooth_l1_loss_backward", make_pointwise, 5, kFp32},
    {"huber_loss", make_pointwise, 5, kFp32},
    {"huber_loss_backward", make_pointwise, 5, kFp32},
    {"kl_div", make_pointwise, kSpecial, kFp32},
    {"binary_cross_entropy", make_pointwise, 2 * kSpecial, kFp32},
    {"binary_cross_entropy_backward", make_pointwise, 10, kFp32},
    {"binary_cross_entropy_with_logits", make_pointwise, 2 * kSpecial, kFp32},
    {"nll_loss_backward", make_fill, 0, kFp32},
    {"nll_loss2d_backward", make_fill, 0, kFp32},
};

constexpr Entry kReductions[] = {
    {"sum", make_reduction, 1, kFp32},
    {"nansum", make_reduction, 1, kFp32},
    {"mean", make_reduction, 1},
    {"prod", make_reduction, 1, kFp32},
    {"max", make_reduction, 1},
    {"min", make_reduction, 1},
    {"amax", make_reduction, 1},
    {"amin", make_reduction, 1},
    {"aminmax", make_reduction, 2},
    {"argmax", make_reduction, 1},
    {"argmin", make_reduction, 1},
    {"any", make_reduction, 1},
    {"all", make_reduction, 1},
    {"count_nonzero", make_reduction, 1},
    {"norm", make_reduction, 2, kFp32},
    {"linalg_vector_norm", make_reduction, 2, kFp32},
    {"var", make_reduction, 4},
    {"std", make_reduction, 4},
    {"var_mean", make_reduction, 4},
    {"std_mean", make_reduction, 4},
    {"logsumexp", make_reduction, kSpecial, kFp32},
    {"equal", make_reduction, 1},
};

constexpr Entry kMovement[] = {
    {"copy_", make_copy, 0},
    {"copy", make_copy, 0},
    {"_to_copy", make_copy, 0},
    {"clone", make_copy, 0},
    {"_local_scalar_dense", make_scalar_read, 0},
    {"cat", make_concat, 0},
    {"_cat", make_concat, 0},
    {"stack", make_concat, 0},
    {"split_with_sizes_copy", make_concat, 0},
    {"split_copy", make_concat, 0},
    {"unbind_copy", make_concat, 0},
    {"index_select", make_gather, 0},
    {"index", make_gather, 0},
    {"gather", make_gather, 0},
    {"take", make_gather, 0},
    {"masked_select", make_pointwise, 1},
    {"nll_loss_forward", make_gather, 0, kFp32},
    {"nll_loss2d_forward", make_gather, 0, kFp32},
    {"index_put", make_scatter_into_copy, 0},
    {"index_put_", make_scatter, 0},
    {"_index_put_impl_", make_scatter, 0},
    {"index_add", make_scatter_into_copy, 1},
    {"index_add_", make_scatter, 1},
    {"index_copy_", make_scatter, 0},
    {"scatter", make_scatter_into_copy, 0},
    {"scatter_", make_scatter, 0},
    {"scatter_add", make_scatter_into_copy, 1},
    {"scatter_add_", make_scatter, 1},
    {"scatter_reduce", make_scatter_into_copy, 1},
    {"slice_backward", make_pointwise, 0},
    {"select_backward", make_fill, 0},
    {"slice_scatter", make_scatter_into_copy, 0},
    {"select_scatter", make_scatter_into_copy, 0},
    {"new_zeros", make_fill, 0},
    {"zeros", make_fill, 0},
    {"zeros_like", make_fill, 0},
    {"ones", make_fill, 0},
    {"ones_like", make_fill, 0},
    {"new_ones", make_fill, 0},
    {"full", make_fill, 0},
    {"full_like", make_fill, 0},
    {"new_full", make_fill, 0},
    {"fill", make_fill, 0},
    {"zero", make_fill, 0},
    {"arange", make_fill, 0},
    {"linspace", make_fill, 0},
    {"eye", make_fill, 0},
    {"scalar_tensor", make_fill, 0},
    {"uniform", make_fill, kRandom},
    {"normal", make_fill, kRandom},
    {"bernoulli", make_fill, kRandom},
    {"exponential", make_fill, kRandom},
    {"random", make_fill, kRandom},
    {"rand", make_fill, kRandom},
    {"randn", make_fill, kRandom},
    {"rand_like", make_fill, kRandom},
    {"randn_like", make_fill, kRandom},
    {"randint", make_fill, kRandom},
    {"one_hot", make_fill, 0},
    // Radix sorts: a pass reads and writes keys and values for every 8 bits of a key.
    {"sort", make_passes, 8},
    {"argsort", make_passes, 8},
    {"topk", make_passes, 4},
    {"unique", make_passes, 8},
    {"_unique2", make_passes, 8},
    {"unique_consecutive", make_passes, 2},
    {"nonzero", make_passes, 2},
    {"cumsum", make_passes, 1.5, kFp32},
    {"cumprod", make_passes, 1.5, kFp32},
    {"bincount", make_passes, 1},
    {"histc", make_passes, 1},
    {"multinomial", make_passes, 4},
    {"searchsorted", make_passes, 1},
    {"bucketize", make_passes, 1},
};

constexpr Entry kOptimizers[] = {
    {"_foreach_add", make_foreach, 2},
    {"_foreach_sub", make_foreach, 2},
    {"_foreach_mul", make_foreach, 1},
    {"_foreach_div", make_foreach, 4},
    {"_foreach_neg", make_foreach, 1},
    {"_foreach_abs", make_foreach, 1},
    {"_foreach_sqrt", make_foreach, 4},
    {"_foreach_reciprocal", make_foreach, 4},
    {"_foreach_pow", make_foreach, kSpecial},
    {"_foreach_exp", make_foreach, kSpecial},
    {"_foreach_lerp", make_foreach, 3},
    {"_foreach_addcmul", make_foreach, 3},
    {"_foreach_addcdiv", make_foreach, 6},
    {"_foreach_maximum", make_foreach, 1},
    {"_foreach_clamp_min", make_foreach, 1},
    {"_foreach_clamp_max", make_foreach, 1},
    {"_foreach_norm", make_foreach, 2},
    {"_foreach_copy", make_foreach, 0},
    {"_foreach_zero", make_foreach, 0},
    {"_fused_adam", make_adam},
    {"_fused_adamw", make_adam},
    {"_fused_sgd", make_sgd},
    {"_fused_adagrad", make_adagrad},
    {"_amp_foreach_non_finite_check_and_unscale", make_foreach, 2},
    {"_amp_update_scale", make_fill, 0},
};

/// Views, allocations, queries, and calls that only pass their work on.
constexpr std::string_view kNothing[] = {
    "view",
    "_unsafe_view",
    "_reshape_alias",
    "reshape",
    "as_strided",
    "t",
    "transpose",
    "permute",
    "movedim",
    "swapaxes",
    "expand",
    "expand_as",
    "view_as",
    "view_as_real",
    "view_as_complex",
    "real",
    "imag",
    "slice",
    "select",
    "narrow",
    "squeeze",
    "unsqueeze",
    "split",
    "split_with_sizes",
    "unsafe_split",
    "chunk",
    "tensor_split",
    "unbind",
    "diagonal",
    "unfold",
    "flatten",
    "unflatten",
    "ravel",
    "detach",
    "detach_",
    "alias",
    "lift",
    "lift_fresh",
    "lift_fresh_copy",
    "empty",
    "empty_like",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "resize",
    "resize_as",
    "set",
    "to",
    "contiguous",
    "result_type",
    "can_cast",
    "is_same_size",
    "is_nonzero",
    "item",
    "size",
    "sym_size",
    "stride",
    "sym_stride",
    "numel",
    "sym_numel",
    "dim",
    "storage_offset",
    "is_contiguous",
    "is_pinned",
    "pin_memory",
    "requires_grad_",
    "_has_compatible_shallow_copy_type",
    "is_floating_point",
    "is_complex",
    "is_leaf",
    "_version",
    "record_stream",
    "data",
    "output_nr",
    "conj",
    "resolve_conj",
    "resolve_neg",
    "_conj",
    "_neg_view",
    "ones_strided",
    "prim::device",
    "_assert_async",
    "_local_scalar",
    "dropout",
    "feature_dropout",
    "alpha_dropout",
    "cudnn_is_acceptable",
    "is_inference",
    "_nested_tensor_from_mask_left_aligned",
    "sym_constrain_range",
    "_assert_tensor_metadata",
    "native_dropout_inference",
    "broadcast_tensors",
    "broadcast_to",
    "meshgrid",
    "unflatten_dense_tensors",
    "atleast_1d",
    "atleast_2d",
    "mT",
    "mH",
    "numpy_T",
    "T",
    "H",
    "adjoint",
    "type_as",
    "_pin_memory",
    "set_data",
    "retain_grad",
    "is_signed",
};

template <std::size_t N>
const Entry* found(const Entry (&entries)[N], std::string_view name) {
  const Entry* at = std::ranges::find(entries, name, &Entry::name);
  return at == entries + N ? nullptr : at;
}

const Entry* entry_named(std::string_view name) {
  for (const Entry* e :
       {found(kProducts, name), found(kConvolutions, name), found(kRows, name), found(kPointwise, name),
        found(kReductions, name), found(kMovement, name), found(kOptimizers, name)}) {
    if (e != nullptr) return e;
  }
  return nullptr;
}

/// An op in place has a name that ends in "_"; where it has an entry of its own, that one holds.
const Entry* entry_of(std::string_view op) {
  const std::string_view name = base_name(op);
  if (const Entry* own = entry_named(name)) return own;
  return name.ends_with("_") ? entry_named(name.substr(0, name.size() - 1)) : nullptr;
}

bool in_place(std::string_view op) { return base_name(op).ends_with("_"); }

std::vector<graph::Op> unlisted(const Call& call) {
  const double read = call.read_bytes(), written = call.written_bytes();
  if (read + written < 1) return {};
  graph::Unlisted op;
  op.read_bytes = count(read), op.written_bytes = count(written);
  op.flops = count(call.sizes().elements(call.largest()));
  return {op};
}

/// Sizes of nothing are no kernels: an empty tensor, a view of one.
bool is_empty(const Call& call) {
  if (call.inputs().empty() && call.outputs().empty()) return true;
  return call.sizes().elements(call.largest()) < 1;
}

}  // namespace

std::string_view base_name(std::string_view op) {
  if (op.starts_with("aten::")) {
    op.remove_prefix(6);
    if (const std::size_t dot = op.find('.'); dot != op.npos) op = op.substr(0, dot);
  }
  return op;
}

Listing listing_of(std::string_view op) {
  if (entry_of(op) != nullptr) return Listing::kernels;
  std::string_view name = base_name(op);
  if (name.ends_with("_") && !name.ends_with("__")) name.remove_suffix(1);
  const bool nothing = std::ranges::find(kNothing, base_name(op)) != std::end(kNothing) ||
                       std::ranges::find(kNothing, name) != std::end(kNothing);
  return nothing ? Listing::nothing : Listing::unlisted;
}

Autocast autocast_of(std::string_view op) {
  if (in_place(op)) return Autocast::widest;
  const Entry* entry = entry_of(op);
  return entry == nullptr ? Autocast::widest : entry->autocast;
}

Kernels kernels_of(const Call& call) {
  if (is_empty(call)) return {};
  const Entry* entry = entry_of(call.node().op);
  if (call.on_host()) return {};
  if (entry != nullptr) {
    if (Ops ops = entry->make(call, entry->flops)) return {std::move(*ops), true};
  }
  return {unlisted(call), false};
}

}  // namespace distsim::opgraph
