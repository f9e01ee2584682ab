"""Functions that PyTorch computes in other calls on a GPU than on the CPU. A graph has those of the GPU."""
import torch

LSTM, GRU = 2, 3  # modes of cuDNN; 0 and 1: a plain recurrence with ReLU and tanh
GATES = {0: 1, 1: 1, LSTM: 4, GRU: 3}


def argument(args, kwargs, place, name, otherwise):
    return args[place] if len(args) > place else kwargs.get(name, otherwise)


def dropout(recorder, func, args, kwargs):
    """One kernel that also writes the mask; four calls on a CPU."""
    x = argument(args, kwargs, 0, "input", None)
    p = argument(args, kwargs, 1, "p", 0.5)
    training = argument(args, kwargs, 2, "training", kwargs.get("train", True))
    return torch.native_dropout(x, p, True)[0] if training and p > 0 else x


def recurrent(mode):
    """All steps of all layers in one call of cuDNN; a call for each gate of each step on a CPU."""
    def run(recorder, func, args, kwargs):
        states, weights, first = (args[1], args[2], 3) if not isinstance(args[2], torch.Tensor) else (args[2], args[3], None)
        if first is None:
            raise NotImplementedError("sequences of different lengths (pack_padded_sequence), whose lengths are values; expected padded ones of one length")
        x = args[0]
        hx, cx = states if mode == LSTM else (states, None)
        has_bias, layers, rate, train, both_ways, batch_first = args[first:first + 6]
        if not batch_first and x.shape[0] == recorder.samples != x.shape[1]:
            recorder.remark("a recurrent layer takes steps in its first dimension (batch_first=False), which here is the batch of the first input")
        hidden = weights[1].shape[0] // GATES[mode]
        projection = hx.shape[2] if hx.shape[2] != hidden else 0
        of_layer = (4 if has_bias else 2) + (1 if projection else 0)
        out = torch._cudnn_rnn(x, list(weights), of_layer, None, hx, cx, mode, hidden, projection, layers, batch_first, rate, train,
                               both_ways, [], None)
        return out[:3] if mode == LSTM else out[:2]
    return run


def cell(recorder, func, args, kwargs):
    """Two products and one kernel for what the gates do."""
    x, state, w_x, w_h = args[:4]
    b_x, b_h = argument(args, kwargs, 4, "b_ih", None), argument(args, kwargs, 5, "b_hh", None)
    lstm = func.__name__ == "lstm_cell"
    from_x = torch.nn.functional.linear(x, w_x)
    from_h = torch.nn.functional.linear(state[0] if lstm else state, w_h)
    if lstm:
        return torch.ops.aten._thnn_fused_lstm_cell.default(from_x, from_h, state[1], b_x, b_h)[:2]
    return torch.ops.aten._thnn_fused_gru_cell.default(from_x, from_h, state, b_x, b_h)[0]


def lookup(place):
    """Gradients that have only the rows of the ids cannot be made without ids: they are dense here, and noted."""
    def run(recorder, func, args, kwargs):
        args = list(args)
        if argument(args, kwargs, place, "sparse", False):
            recorder.sparse.add(recorder.number_of(args[0] if args else kwargs["weight"]))
            if len(args) > place:
                args[place] = False
            else:
                kwargs = {**kwargs, "sparse": False}
        return func(*args, **kwargs)
    return run


def copied(recorder, func, args, kwargs):
    """A copy of a module's tensor: torch 1.13 loses where a tensor without data is."""
    tensor, memo = args[0], args[1]
    if id(tensor) not in memo:
        made = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype)
        memo[id(tensor)] = torch.nn.Parameter(made, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else made
    return memo[id(tensor)]


def one_hot(recorder, func, args, kwargs):
    """On a CPU the numbers are read, to check that they are below the number of classes."""
    classes = argument(args, kwargs, 1, "num_classes", -1)
    x = argument(args, kwargs, 0, "input", argument(args, kwargs, 0, "tensor", None))
    if classes < 0:
        return func(*args, **kwargs)
    return torch.zeros((*x.shape, classes), dtype=torch.int64).scatter_(-1, x.unsqueeze(-1), 1)


def ctc_loss(recorder, func, args, kwargs):
    """Lengths are read on a CPU: all of them are the longest here."""
    names = ("log_probs", "targets", "input_lengths", "target_lengths", "blank", "reduction", "zero_infinity")
    scores, targets, _, _, blank, reduction, no_infinity = (argument(args, kwargs, i, name, 0) for i, name in enumerate(names))
    if scores.dim() != 3:
        return func(*args, **kwargs)
    steps, samples = scores.shape[0], scores.shape[1]
    longest = targets.shape[1] if targets.dim() == 2 else -(-targets.shape[0] // samples)
    losses = torch.ops.aten._ctc_loss.default(scores, targets, [steps] * samples, [longest] * samples, blank, bool(no_infinity))[0]
    if no_infinity:
        losses = torch.where(losses == float("inf"), torch.zeros(()), losses)
    return losses if reduction == 0 else losses.sum() if reduction == 2 else (losses / torch.full((samples,), longest)).mean()


def repeat_interleave(recorder, func, args, kwargs):
    """As many times for each element: the size of the result is known."""
    x, times = args[0] if args else kwargs["input"], argument(args, kwargs, 1, "repeats", None)
    if not isinstance(times, int) or isinstance(times, bool):
        return func(*args, **kwargs)
    dim = argument(args, kwargs, 2, "dim", None)
    if dim is None:
        x, dim = x.flatten(), 0
    return torch.repeat_interleave(x, torch.full((1,), times), dim, output_size=x.shape[dim] * times)


# By the names of the functions: those of C++ are other objects each time that they are asked for.
ON_A_GPU = {
    "dropout": dropout,
    "lstm": recurrent(LSTM),
    "gru": recurrent(GRU),
    "rnn_relu": recurrent(0),
    "rnn_tanh": recurrent(1),
    "lstm_cell": cell,
    "gru_cell": cell,
    "embedding": lookup(4),
    "embedding_bag": lookup(5),
    "__deepcopy__": copied,
    "ctc_loss": ctc_loss,
    "one_hot": one_hot,
    "repeat_interleave": repeat_interleave,
}


def gpu_call(func):
    """What stands for a function that the model calls; None where it is the same on both."""
    rule = ON_A_GPU.get(getattr(func, "__name__", ""))
    if rule is None or getattr(func, "__module__", None) == "torch.nn.functional" and func.__name__ != "dropout":
        return None
    return rule
