"""What goes wrong in a capture, as one line."""
import os
import re
import sysconfig
import traceback

import torch

OWN = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(sysconfig.get_paths()["stdlib"], "")
OF_TORCH = os.path.join(os.path.dirname(os.path.abspath(torch.__file__)), "")
OF_DISTSIM = f"{os.sep}distsim{os.sep}_"  # python/distsim/_capture.py, wherever it is installed


class CaptureError(Exception):
    """The module cannot be captured; the text says where and why."""


def is_of_user(filename):
    in_library = filename.startswith(LIBRARY) and "-packages" not in filename
    return not filename.startswith(("<frozen", OWN, OF_TORCH)) and not in_library and OF_DISTSIM not in filename


def place_of(error):
    """Where the user's code failed: the last frame outside of torch, of Python's own library and of this package."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if is_of_user(f.filename)]
    return f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""


def reads_values(error):
    """Tensors have no data in a capture."""
    text, kind = str(error), type(error).__name__
    marks = ("_local_scalar_dense", "data dependent", "numpy()", ".tolist()")
    return "DataDependent" in kind or kind == "DynamicOutputShapeException" or any(mark in text.lower() for mark in marks)


def reason_of(error):
    """One line; the lists of backends that torch adds are left out."""
    text, kind = str(error).strip().split("\n", 1)[0], type(error).__name__
    if isinstance(error, SystemExit):
        return f"the code of the model ends the program (exit code {error.code})"
    if kind == "DynamicOutputShapeException":
        return f"the size of a result depends on values ({text}: y[y > 0], nonzero(), unique()), and tensors have no data here; expected sizes that follow from sizes, such as torch.where()"
    if "_local_scalar_dense" in text or "data dependent" in text.lower() or "DataDependent" in kind:
        return "the model reads a number out of a tensor (item(), bool(), tolist()), and tensors have no data here; expected a forward pass that does not follow values"
    if ".tolist()" in text:
        return "the model reads the values of a tensor (tolist()), and tensors have no data here; expected a forward pass that does not follow values"
    if ".numpy()" in text or "numpy()" in text and "subclass" in text:
        return "the model reads the values of a tensor (numpy()), and tensors have no data here; expected operations of torch"
    if "_pack_padded_sequence" in text or text.startswith("'lengths' argument"):
        return "sequences of different lengths (pack_padded_sequence), whose lengths are values; expected padded ones of one length"
    unknown = re.match(r"Could not run '([^']+)' with arguments from the 'Meta' backend", text)
    if unknown:
        return f"torch {torch.__version__} has no rule for the sizes of {unknown.group(1)}; a later one may have"
    if kind == "AssertionError" and "CUDA" in text:
        return f"{text}; expected a module on the CPU: nothing is allocated, and the graph is that of a GPU"
    return f"{kind}: {text[:300]}"
