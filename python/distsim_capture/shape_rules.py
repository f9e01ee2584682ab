"""Results of calls that torch 1.13 has no rule for on tensors without data: it would run them on the CPU. Later versions
have rules of their own; these say the same."""
import torch
from torch._subclasses.fake_tensor import DynamicOutputShapeException


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


def recurrent(x, weights, of_layer, buffer, hx, cx, mode, hidden, projection, layers, batch_first, dropout, train, both_ways, *rest, **named):
    """The last results are what the backward pass needs of each step, which ATen's own kernels of cells keep too (four gates and
    the state of an LSTM, five values of a GRU) beside the outputs, and the weights in one piece, which they already are."""
    directions = 2 if both_ways else 1
    steps = x.shape[0] * x.shape[1]
    width = directions * (projection or hidden)
    kept = {2: 6, 3: 6}.get(mode, 1) * hidden * directions * layers * steps
    return (x.new_empty((x.shape[0], x.shape[1], width)), like(hx), like(cx) if cx is not None else x.new_empty((0,)),
            x.new_empty((kept if train else 0,)), x.new_empty((0,)))


def recurrent_backward(x, weights, of_layer, buffer, hx, cx, *rest, **named):
    return like(x), like(hx), like(cx) if cx is not None else None, [like(w) for w in weights]


def lstm_cell(from_x, from_h, cx, b_x=None, b_h=None):
    return like(cx), like(cx), like(from_x)


def lstm_cell_backward(g_h, g_c, cx, cy, gates, has_bias):
    return like(gates), like(cx), gates.new_empty((gates.shape[1],)) if has_bias else None


def gru_cell(from_x, from_h, hx, b_x=None, b_h=None):
    return like(hx), hx.new_empty((hx.shape[0], 5 * hx.shape[1]))


def gru_cell_backward(g, kept, has_bias):
    gates = [g.new_empty((g.shape[0], 3 * g.shape[1])) for _ in range(2)]
    return (*gates, like(g), *(g.new_empty((3 * g.shape[1],)) if has_bias else None for _ in range(2)))


def weight_norm(v, g, dim=0):
    return like(v), like(g)


def weight_norm_backward(gradient, v, g, norms, dim):
    return like(v), like(g)


def full(size, value, dtype=None, **named):
    """torch 1.13 makes floats of whole numbers."""
    of_value = torch.bool if isinstance(value, bool) else torch.int64 if isinstance(value, int) else None
    return torch.empty(size, dtype=dtype or of_value, device=named.get("device"))


def repeat_interleave(repeats, output_size=None):
    """Places to gather from."""
    if output_size is None:
        raise DynamicOutputShapeException(torch.ops.aten.repeat_interleave.Tensor)
    return repeats.new_empty((output_size,))


def cdist(a, b, p, mode):
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return a.new_empty((*batch, a.shape[-2], b.shape[-2]))


def cdist_backward(gradient, a, b, p, distances):
    return a.new_empty((*gradient.shape[:-2], *a.shape[-2:]))


def like_second(gradient, x, *rest, **named):
    return like(x)


def of_sizes(gradient, sizes, *rest, **named):
    return gradient.new_empty(sizes)


def loss_of_pixels(x, target, weight, reduction, ignored):
    return x.new_empty(target.shape if reduction == 0 else ()), x.new_empty(())


def max_pool3d(x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False):
    def three(value):
        value = list(value) if isinstance(value, (list, tuple)) else [value]
        return value * 3 if len(value) == 1 else value
    sizes = []
    for size, k, step, pad, apart in zip(x.shape[-3:], three(kernel), three(stride or kernel), three(padding), three(dilation)):
        rest = size + 2 * pad - apart * (k - 1) - 1
        out = (-(-rest // step) if ceil_mode else rest // step) + 1
        sizes.append(out - 1 if ceil_mode and (out - 1) * step >= size + pad else out)
    shape = (*x.shape[:-3], *sizes)
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.int64)


def upsample3d(x, sizes, scales=None, *rest, **named):
    if sizes is None:
        sizes = [int(size * scale) for size, scale in zip(x.shape[2:], scales)]
    return x.new_empty((*x.shape[:2], *sizes))


def upsample3d_backward(gradient, sizes, of_input, *rest, **named):
    return gradient.new_empty(of_input)


def grid_sampler_3d(x, grid, *rest, **named):
    return x.new_empty((*x.shape[:2], *grid.shape[1:4]))


def grid_sampler_backward(gradient, x, grid, *rest, **named):
    return like(x), like(grid)


def max_unpool2d(x, places, sizes):
    return x.new_empty((*x.shape[:-2], *sizes))


def ctc_loss(scores, targets, of_scores, of_targets, *rest, **named):
    """The longest target decides the states: a row of them where they are padded, else their mean."""
    steps, samples = scores.shape[0], scores.shape[1]
    longest = targets.shape[1] if targets.dim() == 2 else -(-targets.shape[0] // samples)
    return scores.new_empty((samples,)), scores.new_empty((samples, steps, 2 * longest + 1))


def one_of(place):
    """Values and places along a dimension: median(x, dim, keepdim), kthvalue(x, k, dim, keepdim)."""
    def rule(x, *rest, dim=-1, keepdim=False):
        dim = rest[place] if len(rest) > place else dim
        keepdim = rest[place + 1] if len(rest) > place + 1 else keepdim
        shape = list(x.shape)
        shape[dim:dim + 1 or None] = [1] if keepdim else []
        return x.new_empty(shape), x.new_empty(shape, dtype=torch.int64)
    return rule


def bucketize(x, *rest, out_int32=False, **named):
    return x.new_empty(x.shape, dtype=torch.int32 if out_int32 else torch.int64)


def searchsorted(ordered, x, *rest, out_int32=False, **named):
    return x.new_empty(x.shape, dtype=torch.int32 if out_int32 else torch.int64)


def multinomial(x, count, *rest, **named):
    return x.new_empty((*x.shape[:-1], count), dtype=torch.int64)


RULES = {
    "aten::nll_loss2d_forward": loss_of_pixels,
    "aten::nll_loss2d_backward": like_second,
    "aten::max_pool3d_with_indices": max_pool3d,
    "aten::upsample_nearest3d": upsample3d,
    "aten::upsample_nearest3d_backward": upsample3d_backward,
    "aten::upsample_trilinear3d_backward": upsample3d_backward,
    "aten::grid_sampler_2d_backward": grid_sampler_backward,
    "aten::grid_sampler_3d": grid_sampler_3d,
    "aten::grid_sampler_3d_backward": grid_sampler_backward,
    "aten::max_unpool2d": max_unpool2d,
    "aten::unfold_backward": of_sizes,
    "aten::replication_pad3d_backward": like_second,
    "aten::reflection_pad3d_backward": like_second,
    "aten::rrelu_with_noise_backward": like_second,
    "aten::rrelu_with_noise": lambda x, noise, *rest, **named: like(x),
    "aten::logcumsumexp": lambda x, dim: like(x),
    "aten::_logcumsumexp": lambda x, dim: like(x),
    "aten::take": lambda x, places: x.new_empty(places.shape),
    "aten::_ctc_loss": ctc_loss,
    "aten::_ctc_loss_backward": like_second,
    "aten::kthvalue": one_of(1),
    "aten::mode": one_of(0),
    "aten::bucketize": bucketize,
    "aten::searchsorted": searchsorted,
    "aten::multinomial": multinomial,
    "aten::full": full,
    "aten::repeat_interleave": repeat_interleave,
    "aten::_cdist_forward": cdist,
    "aten::_cdist_backward": cdist_backward,
    "aten::_weight_norm_interface": weight_norm,
    "aten::_weight_norm_interface_backward": weight_norm_backward,
    "aten::_weight_norm_cuda_interface": weight_norm,
    "aten::_weight_norm_cuda_interface_backward": weight_norm_backward,
    "aten::_cudnn_rnn": recurrent,
    "aten::_cudnn_rnn_backward": recurrent_backward,
    "aten::_thnn_fused_lstm_cell": lstm_cell,
    "aten::_thnn_fused_lstm_cell_backward_impl": lstm_cell_backward,
    "aten::_thnn_fused_gru_cell": gru_cell,
    "aten::_thnn_fused_gru_cell_backward": gru_cell_backward,
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
