"""Which sizes follow the batch, from passes with several batches."""


def batches_of(samples):
    """Batches of the passes: that of the capture, twice as many, and a third that sizes which do not follow in a line, or
    only from some batch on, are seen at."""
    return [samples, 2 * samples, samples // 2 if samples >= 4 else 3 * samples]


def extent_of(sizes, batches):
    """A size, or [constant, per sample] where it follows the batch; None where it does so otherwise than in a line."""
    slope, rest = divmod(sizes[1] - sizes[0], batches[1] - batches[0])
    constant = sizes[0] - slope * batches[0]
    if rest or slope < 0 or any(constant + slope * b != size for size, b in zip(sizes, batches)):
        return None
    return [constant, slope] if slope else sizes[0]


def where(recorder, number):
    """The call that makes a tensor: "node 12 (aten::mm, blocks.0)"."""
    for i, call in enumerate(recorder.calls):
        if number in call.outputs:
            return f"node {i} ({call.op}{', ' + call.label if call.label else ''})"
    info = recorder.tensors[number]
    return f"{info.role} {info.name!r}"


def differing_calls(passes, batches):
    """Why the passes are not the same calls; nothing where they are."""
    first = passes[0]
    for other, batch in zip(passes[1:], batches[1:]):
        for i, (a, b) in enumerate(zip(first.calls, other.calls)):
            if a.op != b.op:
                label = f", {a.label}" if a.label else ""
                return f"node {i} ({a.op}{label}) is {b.op} with a batch of {batch}"
        if len(first.calls) != len(other.calls):
            return f"{len(first.calls)} calls are {len(other.calls)} with a batch of {batch}"
        if len(first.tensors) != len(other.tensors):
            return f"{len(first.tensors)} tensors are {len(other.tensors)} with a batch of {batch}"
    return ""


def shapes_by_batch(passes, batches):
    """Shapes of all tensors for every batch, and nothing; or those of the first batch, and why they serve no other."""
    alone = [list(t.shape) for t in passes[0].tensors]
    reason = differing_calls(passes, batches)
    if reason:
        return alone, reason
    shapes = []
    for number in range(len(alone)):
        each = [p.tensors[number].shape for p in passes]
        if len({len(shape) for shape in each}) > 1:
            return alone, f"{where(passes[0], number)} has another number of dimensions with another batch"
        extents = [extent_of(sizes, batches) for sizes in zip(*each)]
        if None in extents:
            at = extents.index(None)
            pairs = ", ".join(f"{shape[at]} with {batch}" for shape, batch in sorted(zip(each, batches), key=lambda p: p[1]))
            return alone, f"a size of {where(passes[0], number)} does not follow the batch in a line: {pairs}"
        shapes.append(extents)
    return shapes, ""
