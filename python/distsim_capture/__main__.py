"""The command: python3 -m distsim_capture MODULE:FUNCTION --input SHAPE... -o FILE"""
import argparse
import gzip
import importlib
import json
import os
import sys
import tempfile
import traceback

from .capture import LOSSES, CaptureError, capture
from .inputs import parse_input


def builder(text):
    name, _, function = text.partition(":")
    if not name or not function:
        raise CaptureError(f"found {text!r}, expected MODULE:FUNCTION")
    sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise CaptureError(f"{name}: cannot be imported: {error}") from error
    if not hasattr(module, function):
        raise CaptureError(f"{name}: found no {function!r}, expected a function that returns a torch.nn.Module")
    return getattr(module, function)


def write(graph, path):
    """The whole file or none; compressed unless its name says .json."""
    text = json.dumps(graph, separators=(",", ":")).encode()
    packed = text if path.endswith(".json") else gzip.compress(text, 6, mtime=0)
    folder = os.path.dirname(os.path.abspath(path))
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".distsim_capture")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(packed)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def place_of(error):
    """Where the user's code failed: the last frame outside of torch and of this package."""
    own = os.path.dirname(os.path.abspath(__file__))
    frames = [f for f in traceback.extract_tb(error.__traceback__)
              if not f.filename.startswith(own) and f"{os.sep}torch{os.sep}" not in f.filename and f.filename.endswith(".py")]
    return f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""


def reason_of(error):
    """One line; the lists of backends that torch adds are left out."""
    text = str(error).strip().split("\n", 1)[0]
    if "_local_scalar_dense" in text or "data dependent" in text.lower() or "DataDependent" in type(error).__name__:
        return "the model reads a number out of a tensor (item(), bool(), tolist()), and tensors have no data here; expected a forward pass that does not follow values"
    return f"{type(error).__name__}: {text[:300]}"


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="distsim_capture", description="Write the graph of a PyTorch model for distsim.")
    parser.add_argument("build", metavar="MODULE:FUNCTION", help="returns the module, or the module and a loss function of its output")
    parser.add_argument("--input", action="append", default=[], metavar="SHAPE",
                        help="an argument of the module: sizes, the batch first, and a type: 64x3x224x224, 8x512:int64; may be repeated")
    parser.add_argument("--loss", default="sum", choices=LOSSES, help="what the backward pass starts from")
    parser.add_argument("--channels-last", action="store_true", help="images and filters in the order N, H, W, C")
    parser.add_argument("--one-batch", action="store_true", help="only the sizes of this batch; half the time")
    parser.add_argument("--inference", action="store_true", help="the forward pass alone")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the graph; gzipped unless it ends in .json")
    options = parser.parse_args(arguments)
    try:
        inputs = [parse_input(text) for text in options.input]
        graph = capture(builder(options.build), inputs, options.loss, not options.one_batch, options.channels_last,
                        options.inference, options.build.rpartition(":")[2])
        write(graph, options.output)
    except (CaptureError, ValueError, OSError) as error:
        print(f"distsim_capture: {error}".replace("\n", " "), file=sys.stderr)
        return 2
    except Exception as error:  # of the user's module
        print(f"distsim_capture: {place_of(error)}{reason_of(error)}", file=sys.stderr)
        return 2
    trained = {g["parameter"] for g in graph["gradients"]}
    count = sum(product(t["shape"]) for i, t in enumerate(graph["tensors"]) if i in trained)
    sizes = "any batch" if graph["any_batch"] else f"a batch of {graph['samples']} only"
    print(f"{options.output}: {len(graph['nodes'])} calls, {count:,} trained parameters, {sizes}")
    return 0


def product(shape):
    n = 1
    for size in shape:
        n *= size if isinstance(size, int) else size[0]
    return n


if __name__ == "__main__":
    sys.exit(main())
