"""The command: python3 -m distsim_capture MODULE:FUNCTION --input SHAPE... -o FILE"""
import argparse
import gzip
import importlib
import json
import os
import sys
import tempfile

from .capture import capture
from .errors import CaptureError, place_of, reason_of
from .inputs import parse_input
from .losses import LOSSES


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


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="distsim_capture", description="Write the graph of a PyTorch model for distsim.")
    parser.add_argument("build", metavar="MODULE:FUNCTION", help="returns the module, or the module and a loss function of its output")
    parser.add_argument("--input", action="append", default=[], metavar="SHAPE",
                        help="an argument of the module: sizes, the batch first, and a type: 64x3x224x224, 8x512:int64; may be repeated")
    parser.add_argument("--loss", default="sum", choices=LOSSES, help="what the backward pass starts from")
    parser.add_argument("--channels-last", action="store_true", help="images and filters in the order N, H, W, C")
    parser.add_argument("--one-batch", action="store_true", help="only the sizes of this batch; a third of the time")
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
    except (Exception, SystemExit) as error:  # of the user's module
        print(f"distsim_capture: {place_of(error)}{reason_of(error)}", file=sys.stderr)
        return 2
    trained = {g["parameter"] for g in graph["gradients"]}
    count = sum(product(t["shape"]) for i, t in enumerate(graph["tensors"]) if i in trained)
    sizes = "any batch" if graph["any_batch"] else f"a batch of {graph['samples']} only"
    for remark in graph["remarks"]:
        print(f"distsim_capture: {remark}", file=sys.stderr)
    if not graph["any_batch"] and not options.one_batch:
        print(f"distsim_capture: the graph serves a batch of {graph['samples']} only: {graph['one_batch']}", file=sys.stderr)
    print(f"{options.output}: {len(graph['nodes'])} calls, {count:,} trained parameters, {sizes}")
    return 0


def product(shape):
    n = 1
    for size in shape:
        n *= size if isinstance(size, int) else size[0]
    return n


if __name__ == "__main__":
    sys.exit(main())
