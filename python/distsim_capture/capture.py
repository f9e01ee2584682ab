"""capture(): runs a module's forward and backward pass on tensors without data and returns the graph as a dictionary."""
import contextlib

import torch
from torch._subclasses import FakeTensorMode
from torch.overrides import TorchFunctionMode

from .recorder import Recorder

LOSSES = ("output", "sum", "cross_entropy")


class CaptureError(Exception):
    """The module cannot be captured; the text says where and why."""


class Operators(TorchFunctionMode):
    """Tells the recorder of each function that the model calls: an operator of the framework, whether it launches kernels or
    only looks at a tensor otherwise. Dropout runs as on a GPU: one kernel that also writes the mask. On a CPU it would be
    four calls."""

    def __init__(self, recorder):
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.recorder.begin_operator()
        if func in (torch.nn.functional.dropout, torch.dropout):
            x = args[0] if args else kwargs["input"]
            p = args[1] if len(args) > 1 else kwargs.get("p", 0.5)
            training = args[2] if len(args) > 2 else kwargs.get("training", kwargs.get("train", True))
            return torch.native_dropout(x, p, True)[0] if training and p > 0 else x
        return func(*args, **kwargs)


@contextlib.contextmanager
def inside_functional():
    """Lets Operators see what the functions of torch.nn.functional call, attention among them, instead of these as a whole."""
    functional = torch.nn.functional
    names = [n for n in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic") if hasattr(functional, n)]
    kept = {n: getattr(functional, n) for n in names}
    try:
        for n in names:
            setattr(functional, n, lambda *tensors: False)
        yield
    finally:
        for n in names:
            setattr(functional, n, kept[n])


def count_backward_nodes(value, recorder):
    """Each node of autograd, those that only pass a gradient on or store it among them, is an operator of the host."""
    nodes, seen = [value.grad_fn], set()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        node.register_hook(lambda *gradients: recorder.end_backward_node())
        nodes.extend(following for following, _ in node.next_functions)


def placeholder(spec, samples):
    dtype = getattr(torch, spec.dtype, None)
    if not isinstance(dtype, torch.dtype):
        raise CaptureError(f"--input: found the type {spec.dtype!r}, expected one such as float32 or int64")
    return torch.empty(spec.of_batch(samples), dtype=dtype)


def loss_of(outputs, kind, recorder):
    if kind == "output":
        if not isinstance(outputs, torch.Tensor) or outputs.numel() != 1:
            outputs = next((v for v in getattr(outputs, "values", lambda: [])() if torch.is_tensor(v) and v.numel() == 1), None)
        if outputs is None:
            raise CaptureError("--loss output: the module returns no single number, expected the loss; use --loss sum or cross_entropy")
        return outputs
    tensor = outputs
    while not isinstance(tensor, torch.Tensor):
        values = list(tensor.values()) if isinstance(tensor, dict) else list(tensor)
        if not values:
            raise CaptureError("the module returns no tensor, expected one")
        tensor = values[0]
    if kind == "sum":
        return tensor.sum()
    target = torch.empty(tensor.shape[:-1], dtype=torch.int64)
    recorder.name(target, "input", "target")
    return torch.nn.functional.cross_entropy(tensor.reshape(-1, tensor.shape[-1]), target.reshape(-1))


@contextlib.contextmanager
def module_paths(module, recorder):
    handles = []
    for name, child in module.named_modules():
        handles.append(child.register_forward_pre_hook(lambda m, i, name=name: recorder.enter(name)))
        handles.append(child.register_forward_hook(lambda m, i, o: recorder.leave()))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def run_once(build, inputs, samples, loss, channels_last, inference):
    """One pass over tensors without data. Returns the recorder."""
    recorder = Recorder()
    with FakeTensorMode(allow_fallback_kernels=False), Operators(recorder), inside_functional(), recorder:
        built = build() if not isinstance(build, torch.nn.Module) else build
        module, own_loss = built if isinstance(built, tuple) else (built, None)
        if not isinstance(module, torch.nn.Module):
            raise CaptureError(f"found {type(module).__name__}, expected a function that returns a torch.nn.Module")
        if channels_last:
            module = module.to(memory_format=torch.channels_last)
        for name, tensor in module.named_buffers():
            recorder.name(tensor, "buffer", name)
        for name, tensor in module.named_parameters():
            recorder.name(tensor, "parameter", name)
            if tensor.requires_grad and not inference:
                tensor.register_hook(lambda g, tensor=tensor: recorder.gradient_of(tensor))
        given = [placeholder(spec, samples) for spec in inputs]
        if channels_last:
            given = [g.contiguous(memory_format=torch.channels_last) if g.dim() == 4 else g for g in given]
        for i, tensor in enumerate(given):
            recorder.name(tensor, "input", f"input {i}")
        recorder.active = True
        with module_paths(module, recorder), torch.set_grad_enabled(not inference):
            outputs = module(*given)
            if not inference:
                value = own_loss(outputs) if own_loss else loss_of(outputs, loss, recorder)
                recorder.modules, recorder.phase = ["loss"], "backward"
                count_backward_nodes(value, recorder)
                value.backward()
        recorder.active = False
    return recorder


def extents(shape, other, samples, others):
    """Sizes as [constant, per sample] where they follow the batch; None where they do so otherwise than in a line."""
    if len(shape) != len(other):
        return None
    out = []
    for a, b in zip(shape, other):
        slope, rest = divmod(b - a, others - samples)
        if rest or slope < 0:
            return None
        out.append([a - slope * samples, slope] if slope else a)
    return out


def same_calls(one, other):
    return len(one.calls) == len(other.calls) and len(one.tensors) == len(other.tensors) and all(
        a.op == b.op for a, b in zip(one.calls, other.calls))


def shapes_of(recorder, other, samples, others):
    """Shapes for every batch where both passes make the same calls, else those of this batch; and which it is."""
    if other is not None and same_calls(recorder, other):
        shapes = [extents(a.shape, b.shape, samples, others) for a, b in zip(recorder.tensors, other.tensors)]
        if None not in shapes:
            return shapes, True
    return [list(t.shape) for t in recorder.tensors], False


def capture(build, inputs, loss="sum", any_batch=True, channels_last=False, inference=False, name=""):
    """The graph of `build()`, a module or (module, loss function), for `inputs`, a list of InputSpec whose first size is
    the batch. With any_batch a second pass with twice the batch tells which sizes follow it."""
    if not inputs:
        raise CaptureError("--input: found none, expected at least one")
    if loss not in LOSSES:
        raise CaptureError(f"--loss: found {loss!r}, expected one of {', '.join(LOSSES)}")
    samples = inputs[0].shape[0]
    recorder = run_once(build, inputs, samples, loss, channels_last, inference)
    other = run_once(build, inputs, 2 * samples, loss, channels_last, inference) if any_batch else None
    shapes, follows = shapes_of(recorder, other, samples, 2 * samples)
    tensors = []
    for info, shape in zip(recorder.tensors, shapes):
        tensor = {"shape": shape, "dtype": info.dtype, "storage": info.storage}
        if info.role != "activation":
            tensor["role"], tensor["name"] = info.role, info.name
        if info.channels_last:
            tensor["channels_last"] = True
        tensors.append(tensor)
    nodes = [{"op": c.op, "label": c.label, "phase": c.phase, "calls": c.operators, "in": c.inputs, "out": c.outputs}
             for c in recorder.calls]
    gradients = [{"parameter": parameter, "after": after} for parameter, after in recorder.gradients]
    return {"format": "distsim graph", "version": 1, "name": name, "producer": f"distsim_capture, torch {torch.__version__}",
            "samples": samples, "any_batch": follows, "tensors": tensors, "nodes": nodes, "gradients": gradients}
