"""Writes the graph of a PyTorch model's training step for distsim: calls, shapes and types of the forward and the backward
pass, without allocating the model and without a GPU. See docs/graph_format.md.

    python3 -m distsim_capture my_module:build --input 64x3x224x224 -o my.graph
"""
from .capture import capture
from .errors import CaptureError
from .inputs import InputSpec, parse_input

__all__ = ["CaptureError", "InputSpec", "capture", "parse_input"]
