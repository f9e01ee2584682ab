"""Copies of modules whose tensors have sizes and types and no data."""
import copy
import functools
import inspect
import types

import torch

from .errors import CaptureError


def empty_like(tensor):
    if tensor.layout != torch.strided:
        return torch.empty(tensor.shape, dtype=tensor.dtype)
    return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype)


def held_by(value):
    """What copy.deepcopy() copies along with a value."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    if isinstance(value, types.MethodType):
        return [value.__self__]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, (str, bytes, int, float, type, types.ModuleType, types.FunctionType)):
        return []
    return list(getattr(value, "__dict__", {}).values())


def tensors_of(module):
    """All that a module holds: parameters, buffers, and those in attributes, lists and the objects of its hooks; and compiled
    functions, which cannot be copied and need not be."""
    left, seen, found = [*module.parameters(), *module.buffers(), module], set(), []
    while left:
        value = left.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, (torch.Tensor, torch.jit.ScriptFunction)):
            found.append(value)
        else:
            left.extend(held_by(value))
    return found


def place_of_class(kind):
    """"models.py:12: " of a class, where it is written in Python."""
    try:
        return f"{inspect.getsourcefile(kind)}:{inspect.getsourcelines(kind)[1]}: "
    except (OSError, TypeError):
        return ""


def culprit_of(module, memo):
    """The module and the attribute that cannot be copied."""
    for name, one in module.named_modules():
        for key, value in vars(one).items():
            if key == "_modules":
                continue
            try:
                copy.deepcopy(value, dict(memo))
            except Exception as error:
                first = str(error).strip().split("\n", 1)[0]
                where = f"module {name!r}" if name else "the module"
                return f"{place_of_class(type(one))}attribute {key!r} of {where} cannot be copied: {first}"
    return "the module cannot be copied"


def without_data(module):
    """To be called where tensors that are made have no data. The module itself stays as it is."""
    memo = {}
    for tensor in tensors_of(module):
        if isinstance(tensor, torch.jit.ScriptFunction):
            memo[id(tensor)] = tensor
            continue
        memo[id(tensor)] = empty_like(tensor)
        if isinstance(tensor, torch.nn.Parameter):
            memo[id(tensor)] = torch.nn.Parameter(memo[id(tensor)], requires_grad=tensor.requires_grad)
    try:
        return copy.deepcopy(module, dict(memo))
    except Exception as error:
        raise CaptureError(culprit_of(module, memo) + "; expected a function that returns the module") from error
