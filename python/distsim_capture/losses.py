"""What the backward pass starts from."""
import torch

from .errors import CaptureError

LOSSES = ("output", "sum", "cross_entropy")


def attributes_of(value):
    """Those of an object, also of a dataclass with slots."""
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    return {**{name: getattr(value, name) for name in slots if hasattr(value, name)}, **getattr(value, "__dict__", {})}


def floats_in(outputs, path="", found=None, seen=()):
    """Tensors of floating type with their places in what a module returned: "logits", "0", "aux.1"."""
    found = {} if found is None else found
    if id(outputs) in seen or isinstance(outputs, (torch.nn.Module, type, str, bytes, int, float)):
        return found
    seen = (*seen, id(outputs))
    if isinstance(outputs, torch.Tensor):
        if outputs.is_floating_point() or outputs.is_complex():
            found[path or "output"] = outputs
    elif isinstance(outputs, dict):
        for key, value in outputs.items():
            floats_in(value, f"{path}.{key}" if path else str(key), found, seen)
    elif isinstance(outputs, (list, tuple, set, frozenset)):
        for i, value in enumerate(outputs):
            floats_in(value, f"{path}.{i}" if path else str(i), found, seen)
    else:
        floats_in(attributes_of(outputs), path, found, seen)
    return found


def listed(names):
    shown = ", ".join(repr(n) for n in names[:4])
    return shown + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def loss_of(outputs, kind, recorder):
    found = floats_in(outputs)
    if not found:
        raise CaptureError("the module returns no tensor of floating type, expected one that the loss follows from")
    if kind == "output":
        numbers = {name: v for name, v in found.items() if v.numel() == 1}
        if not numbers:
            sizes = "x".join(str(s) for s in next(iter(found.values())).shape)
            raise CaptureError(f"--loss output: the module returns a tensor of {sizes}, expected the loss, a single number; use --loss sum or cross_entropy")
        name = "loss" if "loss" in numbers else next(iter(numbers))
        return numbers[name]
    trained = {name: v for name, v in found.items() if v.requires_grad}
    if not trained:
        raise CaptureError("found no parameter that is trained and that the output depends on, expected one; use --inference for a forward pass alone")
    if kind == "sum":
        total = None
        for tensor in trained.values():
            total = tensor.sum() if total is None else total + tensor.sum()
        return total
    name, tensor = next(((n, v) for n, v in trained.items() if v.dim() >= 2), (None, None))
    if tensor is None:
        raise CaptureError("--loss cross_entropy: the module returns no tensor of two dimensions or more, expected a score for each class in the last one")
    others = [n for n in trained if n != name]
    if others:
        recorder.remark(f"the loss is the cross entropy of output {name!r}; not of {listed(others)}")
    target = torch.empty(tensor.shape[:-1], dtype=torch.int64)
    recorder.name(target, "input", "target")
    return torch.nn.functional.cross_entropy(tensor.reshape(-1, tensor.shape[-1]), target.reshape(-1))


def check_own(value):
    """What the loss function that came with the module has made."""
    if not isinstance(value, torch.Tensor):
        raise CaptureError(f"the loss function returns {type(value).__name__}, expected a tensor with a single number")
    if value.numel() != 1:
        raise CaptureError(f"the loss function returns a tensor of {'x'.join(str(s) for s in value.shape)}, expected a single number")
    if not value.requires_grad:
        raise CaptureError("found no parameter that is trained and that the loss depends on, expected one; use --inference for a forward pass alone")
    return value
