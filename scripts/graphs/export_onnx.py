#!/usr/bin/env python3
"""Exports a model of scripts/graphs/models.py to ONNX, without its weights' values.

usage: export_onnx.py MODEL FILE
Needs torch >= 1.13. The export runs the model once, on two samples of four words; their number is the dynamic dimension `sequence`."""
import io
import pathlib
import sys

import torch

import models


def inputs_of(name):
    ids = lambda length: torch.zeros(2, length, dtype=torch.int64)
    words = 4
    if name == "resnet50":
        return (torch.zeros(2, 3, 224, 224),)
    if name == "bert_large":
        return ids(words), ids(words), torch.ones(2, words), ids(20)
    if name == "gpt2":
        return (ids(words),)
    return (torch.zeros(2, 13), *[torch.zeros(2, dtype=torch.int64) for _ in models.MLPERF_TABLES])


GRAPH, INITIALIZER, RAW_DATA, FLOAT_DATA = 7, 5, 9, 4  # field numbers of onnx.proto
LEVELS = (GRAPH, INITIALIZER)
SMALL = 65_536  # bytes of a weight that are kept: shapes may be computed from them


def varint(n):
    out = bytearray()
    while n >= 128:
        out.append(n % 128 + 128)
        n >>= 7
    return bytes(out + bytes([n]))


def fields(data):
    """Of a message of protocol buffers: number, kind, the whole field, its contents."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        begin, tag = at, number()
        kind, size = tag & 7, 0
        if kind == 0:
            number()
        else:
            size = {1: 8, 5: 4}.get(kind) or number()
        yield tag >> 3, kind, data[begin:at + size], data[at:at + size]
        at += size


def without_values(data, levels):
    out = []
    for number, kind, whole, inside in fields(data):
        if levels and number == levels[0] and kind == 2:
            message = without_values(inside, levels[1:])
            out.append(varint(number << 3 | 2) + varint(len(message)) + message)
        elif levels or number not in (RAW_DATA, FLOAT_DATA) or len(inside) <= SMALL:
            out.append(bytes(whole))
    return b"".join(out)


def main():
    name, path = sys.argv[1], pathlib.Path(sys.argv[2])
    torch.set_num_threads(1)
    built = models.dlrm_small_single() if name == "dlrm_small" else getattr(models, name)()
    model = built[0] if isinstance(built, tuple) else built
    inputs = inputs_of(name)
    names = [f"in{i}" for i in range(len(inputs))]
    out = io.BytesIO()
    for parameter in model.parameters():  # one number for all of it
        parameter.data = torch.zeros(1).expand(parameter.shape)
    with torch.no_grad():
        export(model, inputs, out, names)
    path.write_bytes(without_values(out.getbuffer(), LEVELS))


def axes(x):
    return {0: "batch"} | ({1: "sequence"} if x.dim() == 2 and x.shape[1] == 4 else {})


def export(model, inputs, out, names):
    torch.onnx.export(model, inputs, out, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, opset_version=17,
                      input_names=names, dynamic_axes={n: axes(x) for n, x in zip(names, inputs)})


if __name__ == "__main__":
    main()
