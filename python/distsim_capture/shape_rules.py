"""Results of calls that torch 1.13 has no rule for on tensors without data: it would run them on the CPU. Later versions
have rules of their own; these say the same."""
import torch


def like(tensor):
    return torch.empty_like(tensor)


def convolution_backward(gradient, image, filters, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask):
    bias = gradient.new_empty(bias_sizes) if mask[2] and bias_sizes else None
    return (like(image) if mask[0] else None, like(filters) if mask[1] else None, bias)


def pool_backward(gradient, image, *rest, **named):
    return like(image)


def embedding_bag(weight, ids, offsets, *rest, **named):
    rows = offsets.shape[0]
    numbers = [offsets.new_empty(ids.shape), offsets.new_empty((rows,)), offsets.new_empty((rows,))]
    return (weight.new_empty((rows, weight.shape[1])), *numbers)


def embedding_bag_backward(gradient, ids, offset2bag, bag_size, maximum, rows, *rest, **named):
    return gradient.new_empty((rows, gradient.shape[1]))


def index_put_(into, *rest, **named):
    return into


def norm_backward(gradient, x, *rest, **named):
    """Gradients of x and, where they are asked for, of scale and shift, which have a size for each channel."""
    return like(x), x.new_empty((x.shape[1],)), x.new_empty((x.shape[1],))


RULES = {
    "aten::convolution_backward": convolution_backward,
    "aten::max_pool2d_with_indices_backward": pool_backward,
    "aten::max_pool3d_with_indices_backward": pool_backward,
    "aten::avg_pool2d_backward": pool_backward,
    "aten::avg_pool3d_backward": pool_backward,
    "aten::_adaptive_avg_pool2d_backward": pool_backward,
    "aten::_adaptive_avg_pool3d_backward": pool_backward,
    "aten::adaptive_max_pool2d_backward": pool_backward,
    "aten::_embedding_bag": embedding_bag,
    "aten::_embedding_bag_dense_backward": embedding_bag_backward,
    "aten::native_batch_norm_backward": norm_backward,
    "aten::_index_put_impl_": index_put_,
}
