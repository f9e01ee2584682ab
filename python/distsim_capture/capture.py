"""capture(): runs a module's forward and backward pass on tensors without data and returns the graph as a dictionary."""
import contextlib
import inspect

import torch
from torch._subclasses import FakeTensor, FakeTensorMode
from torch.overrides import TorchFunctionMode

from .batches import batches_of, shapes_by_batch
from .errors import CaptureError, place_of, reads_values, reason_of
from .gpu_calls import gpu_call
from .losses import LOSSES, check_own, loss_of
from .recorder import Recorder
from .torch_changes import ONE_AT_A_TIME, changed_torch
from .without_data import without_data

ASKED = "it was captured for one batch, as asked"

class Operators(TorchFunctionMode):
    """Tells the recorder of each function that the model calls: an operator of the framework, whether it launches kernels or
    only looks at a tensor otherwise. What a GPU runs in other calls than a CPU is called as the GPU does it."""

    def __init__(self, recorder):
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.recorder.begin_operator()
        rule = gpu_call(func)
        results = rule(self.recorder, func, args, kwargs) if rule else func(*args, **kwargs)
        self.recorder.made(results)
        return results


def count_backward_nodes(value, recorder):
    """Each node of autograd, those that only pass a gradient on or store it among them, is an operator of the host."""
    nodes, seen = [value.grad_fn], set()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        autocast = recorder.autocast_of.get(node)
        node.register_hook(lambda *gradients, autocast=autocast: recorder.end_backward_node(autocast))
        nodes.extend(following for following, _ in node.next_functions)


def placeholder(spec, of_capture, samples):
    """A tensor of an input, whose first size is the batch where it is that of the first input; one of another size is no batch."""
    dtype = getattr(torch, spec.dtype, None)
    if not isinstance(dtype, torch.dtype):
        raise CaptureError(f"--input: found the type {spec.dtype!r}, expected one such as float32 or int64")
    return torch.empty(spec.of_batch(samples) if spec.shape[0] == of_capture else spec.shape, dtype=dtype)


def note_fixed_inputs(inputs, recorder):
    for i, spec in enumerate(inputs):
        if spec.shape[0] != inputs[0].shape[0]:
            sizes = "x".join(str(size) for size in spec.shape)
            recorder.remark(f"input {i} has {sizes} elements whatever the batch: its first size is not that of input 0, {inputs[0].shape[0]}")


def check_inputs(module, given):
    """The module takes as many as there are."""
    try:
        parameters = inspect.signature(module.forward)
    except (TypeError, ValueError):
        return
    try:
        parameters.bind(*given)
    except TypeError:
        places = [p for p in parameters.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        needed = sum(p.default is p.empty for p in places)
        counts = str(needed) if needed == len(places) else f"{needed} to {len(places)}"
        names = f" ({', '.join(p.name for p in places)})" if places else ""
        raise CaptureError(f"--input: found {len(given)}, expected {counts}, as forward() of {type(module).__name__} takes{names}") from None


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


def without_values(built):
    """The module and its own loss function; a copy where its tensors have data."""
    module, own_loss = built if isinstance(built, tuple) and len(built) == 2 else (built, None)
    if not isinstance(module, torch.nn.Module):
        raise CaptureError(f"found {type(module).__name__}, expected a function that returns a torch.nn.Module")
    compiled = [name for name, one in module.named_modules() if isinstance(one, torch.jit.ScriptModule)]
    if compiled:
        where = f"module {compiled[0]!r}" if compiled[0] else "a module"
        raise CaptureError(f"found {where} that TorchScript compiled or traced, expected the torch.nn.Module that it was made of")
    if own_loss is not None and not callable(own_loss):
        raise CaptureError(f"found a module and {type(own_loss).__name__}, expected a module and a function from its output to the loss")
    if any(not isinstance(t, FakeTensor) for t in [*module.parameters(), *module.buffers()]):
        module = without_data(module)
    return module, own_loss


def run_once(build, inputs, samples, loss, channels_last, inference, notes_nodes=False):
    """One pass over tensors without data. Returns the recorder. `notes_nodes`: by the regions of torch.autocast."""
    mode = FakeTensorMode(allow_fallback_kernels=False)
    recorder = Recorder(mode, samples, notes_nodes)
    with changed_torch(recorder), mode, Operators(recorder), recorder:
        module, own_loss = without_values(build if isinstance(build, torch.nn.Module) else built_by(build))
        if channels_last:
            module = module.to(memory_format=torch.channels_last)
        for name, tensor in module.named_buffers():
            recorder.name(tensor, "buffer", name)
        for name, tensor in module.named_parameters():
            recorder.name(tensor, "parameter", name)
            if tensor.requires_grad and not inference:
                tensor.register_hook(lambda g, tensor=tensor: recorder.gradient_of(tensor, g))
        given = [placeholder(spec, inputs[0].shape[0], samples) for spec in inputs]
        note_fixed_inputs(inputs, recorder)
        check_inputs(module, given)
        if channels_last:
            given = [g.contiguous(memory_format=torch.channels_last) if g.dim() == 4 else g for g in given]
        for i, tensor in enumerate(given):
            recorder.name(tensor, "input", f"input {i}")
        recorder.active = True
        with module_paths(module, recorder), torch.set_grad_enabled(not inference):
            outputs = module(*given)
            if not inference:
                value = check_own(own_loss(outputs)) if own_loss else loss_of(outputs, loss, recorder)
                recorder.begin_backward()
                count_backward_nodes(value, recorder)
                value.backward()
        recorder.active = False
    return recorder


class ReadsValues(Exception):
    """The function that makes the module computes with values, which tensors of a capture have not."""


def built_by(build):
    try:
        return build()
    except Exception as error:
        if reads_values(error):
            raise ReadsValues from error
        raise


def passes_of(build, inputs, any_batch, *options):
    """The pass with the batch of the inputs, those with other batches, and why there are none of these."""
    batches = batches_of(inputs[0].shape[0])
    passes = [run_once(build, inputs, batches[0], *options)]
    if passes[0].regions:
        passes = [run_once(build, inputs, batches[0], *options, notes_nodes=True)]
    if not any_batch:
        return passes, batches, ASKED
    for batch in batches[1:]:
        try:
            passes.append(run_once(build, inputs, batch, *options))
        except Exception as error:  # of the user's module, which ran with the first batch
            return passes, batches, f"with a batch of {batch} the module fails: {place_of(error)}{reason_of(error)}"
    return passes, batches, ""


def capture(build, inputs, loss="sum", any_batch=True, channels_last=False, inference=False, name=""):
    """The graph of `build()`, a module or (module, loss function), for `inputs`, a list of InputSpec whose first size is
    the batch. With any_batch two more passes with other batches tell which sizes follow it."""
    if not inputs:
        raise CaptureError("--input: found none, expected at least one")
    if loss not in LOSSES:
        raise CaptureError(f"--loss: found {loss!r}, expected one of {', '.join(LOSSES)}")
    with ONE_AT_A_TIME:
        try:
            passes, batches, reason = passes_of(build, inputs, any_batch, loss, channels_last, inference)
        except ReadsValues:  # with values, then, and a copy without
            built = build()
            passes, batches, reason = passes_of(lambda: built, inputs, any_batch, loss, channels_last, inference)
    recorder = passes[0]
    shapes = [list(t.shape) for t in recorder.tensors]
    if not reason:
        shapes, reason = shapes_by_batch(passes, batches)
    tensors = []
    for info, shape in zip(recorder.tensors, shapes):
        tensor = {"shape": shape, "dtype": info.dtype, "storage": info.storage}
        if info.role != "activation":
            tensor["role"], tensor["name"] = info.role, info.name
        if info.channels_last:
            tensor["channels_last"] = True
        tensors.append(tensor)
    nodes = [{"op": c.op, "label": c.label, "phase": c.phase, "calls": c.operators, **({"autocast": c.autocast} if c.autocast else {}),
              "in": c.inputs, "out": c.outputs} for c in recorder.calls]
    gradients = [{"parameter": parameter, "after": after, **({"sparse": True} if parameter in recorder.sparse else {})}
                 for parameter, after in recorder.gradients]
    graph = {"format": "distsim graph", "version": 1, "name": name, "producer": f"distsim_capture, torch {torch.__version__}",
             "samples": batches[0], "any_batch": not reason, "remarks": recorder.remarks, "tensors": tensors, "nodes": nodes,
             "gradients": gradients}
    if reason:
        graph["one_batch"] = reason
    return graph
