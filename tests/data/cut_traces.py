"""Cuts small traces from the full set: whole steps, and of each event only what the readers use. Part of cut_samples.py.

The truth of a sample (manifest.json) is that of the full set for the steps that stay. What changes with the cut (the window of
all GPU work, counts) is computed here, by code that shares nothing with the program, after it has reproduced the figures of the
full set from the full trace.
"""
import gzip
import json
import pathlib
import sqlite3
import tempfile

# Trace: number of steps that stay (None: all events).
KINETO = {
    "hta/cpu_only_gloo_rank34of300.json.gz": None,
    "hta/mi250_minitoy.json.gz": None,
    "hta/recsys_a100_rank3of8.json.gz": 3,
    "hta/resnet_a100_ncclmeta_rank0of2.json.gz": 3,
    "hta/simple_add_kineto_for_et.json.gz": None,
    "kineto_tb/resnet50_nw0_bare_array.json.gz": 3,
    "tracelens/h100_Falconsai_nsfw_image_detection.json.gz": None,
    "tracelens/mi300_resnet_ddp_rank0of8.json.gz": 3,
    "tracelens/mi300_torch_compile_triton.json.gz": None,
    **{f"megatron_gpt_tp8_a100/kineto_rank{rank}.json.gz": None for rank in range(8)},
}
EXECUTION_TRACES = {  # trace of the same run in Kineto's format; names whose nodes stay (None: all that the cut Kineto trace has)
    "hta/simple_add_et_1.0.1.json.gz": ("hta/simple_add_kineto_for_et.json.gz", None),
    "megatron_gpt_tp8_a100/pytorch_et_rank0.json.gz": ("megatron_gpt_tp8_a100/kineto_rank0.json.gz", None),
    **{f"megatron_gpt_tp8_a100/pytorch_et_rank{rank}.json.gz": (f"megatron_gpt_tp8_a100/kineto_rank{rank}.json.gz",
                                                                {"record_param_comms", "nccl:all_reduce"}) for rank in range(1, 8)},
}
NSYS = ["nsys/mfu_2gpu_before.sqlite.gz", "nsys/mock.sqlite.gz"]
CHAKRA = "chakra/chakra.0.et.gz"
CHAKRA_JSON = "chakra/json_trace_small.json"
CHAKRA_COLLECTIVES = 12
ASTRA = [f"astra_et/{name}.{rank}.et" for name in ("all_reduce_8npus_1MB_all_reduce", "custom_ring_allreduce_8npus_1MB") for rank in range(8)]


def written(path, data):
    """gzip without a date where the name says gzip."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, 9, mtime=0) if path.suffix == ".gz" else data)


def compact(value):
    return json.dumps(value, separators=(",", ":")).encode()


def load_json(path):
    return json.loads(gzip.decompress(path.read_bytes()))


# ---- Kineto -------------------------------------------------------------------------------------------------------------------------

DEVICE = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}
CALLS = {"cuda_runtime", "cuda_driver", "Runtime"}
OPS = {"cpu_op", "Operator"}
NOTES = {"user_annotation", "cuda_sync"}
ARGUMENTS = {"correlation", "stream", "device", "bytes", "kind", "External id", "external id", "Record function id", "Collective name",
             "In msg nelems", "Out msg nelems", "Group size", "dtype", "Process Group Name", "Process Group Description",
             "Process Group Ranks", "In split size", "Out split size", "Seq", "Src Rank", "Dst Rank", "cuda_sync_kind",
             "wait_on_stream", "wait_on_cuda_event_record_corr_id"}
HEADER = {"schemaVersion", "displayTimeUnit", "baseTimeNanoseconds", "distributedInfo"}
DEVICE_PROPERTIES = {"id", "name", "totalGlobalMem", "computeMajor", "computeMinor", "numSms"}
QUERIES = ("Occupancy", "GetDevice", "GetStreamPriority", "StreamGetPriority", "IsCapturing", "PeekAtLastError", "GetLastError",
           "PointerGetAttributes", "GetAttribute", "StreamGetCaptureInfo", "ThreadExchange")  # calls that neither launch nor wait


def begin(event):
    return float(event["ts"])


def end(event):
    return float(event["ts"]) + float(event.get("dur", 0))


def events_of(trace):
    return trace if isinstance(trace, list) else trace["traceEvents"]


def in_category(trace, categories):
    return [e for e in events_of(trace) if e.get("ph") == "X" and e.get("cat") in categories]


def steps_of(trace):
    return sorted((e for e in in_category(trace, OPS | NOTES) if e["name"].startswith("ProfilerStep#")), key=begin)


def correlation(event):
    return event.get("args", {}).get("correlation")


def launches(ops, calls):
    """The innermost op around each runtime call, and every op that lies in no other: the rest of the nesting is dropped."""
    kept = []
    threads = {}
    for event in ops + calls:
        threads.setdefault((str(event["pid"]), str(event["tid"])), []).append(event)
    for events in threads.values():
        stack = []
        for event in sorted(events, key=lambda e: (begin(e), -end(e), e["cat"] not in OPS)):
            while stack and end(stack[-1][0]) <= begin(event):
                stack.pop()
            if event["cat"] in OPS:
                stack.append([event, not stack])
                if len(stack) == 1:
                    kept.append(event)
            elif stack and not stack[-1][1]:
                stack[-1][1] = True
                kept.append(stack[-1][0])
    return kept


def slim(event):
    out = {key: event[key] for key in ("ph", "cat", "name", "pid", "tid", "ts", "dur") if key in event}
    arguments = {key: value for key, value in event.get("args", {}).items() if key in ARGUMENTS}
    return {**out, "args": arguments} if arguments else out


def is_query(event):
    return any(word in event["name"] for word in QUERIES)


def cut_kineto(trace, steps):
    """The host events of the first steps, and what they launched or ran beside."""
    marks = steps_of(trace)
    first, last = (float("-inf"), float("inf")) if steps is None else (begin(marks[0]), end(marks[steps - 1]))
    inside = lambda e: begin(e) < last and end(e) >= first
    calls = [e for e in in_category(trace, CALLS) if inside(e)]
    launched = {correlation(e) for e in calls} - {None}
    device = [e for e in in_category(trace, DEVICE) if correlation(e) in launched or (inside(e) and end(e) > first)]
    joined = {correlation(e) for e in device}
    calls = [e for e in calls if correlation(e) in joined or not is_query(e)]
    marked = [e for e in in_category(trace, NOTES) if inside(e)]
    ops = [e for e in in_category(trace, OPS) if inside(e) and not e["name"].startswith("ProfilerStep#")]
    step_ops = [e for e in marks if e["cat"] in OPS and inside(e)]  # the oldest schema marks steps by an op
    return [slim(e) for e in sorted(launches(ops, calls) + step_ops + calls + marked + device, key=lambda e: (begin(e), -end(e)))]


def with_header(trace, events):
    if isinstance(trace, list):
        return events
    header = {key: trace[key] for key in trace if key in HEADER}
    devices = [{k: v for k, v in d.items() if k in DEVICE_PROPERTIES} for d in trace.get("deviceProperties", [])]
    return {**header, "deviceProperties": devices, "traceEvents": events}


# ---- the truth of a cut trace, computed apart from the program ------------------------------------------------------------------------

def is_communication(event):
    return "nccl" in event["name"].lower() or "rccl" in event["name"].lower()


def union(intervals):
    out = []
    for start, stop in sorted(i for i in intervals if i[1] > i[0]):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], stop)
        else:
            out.append([start, stop])
    return out


def length(intervals):
    return sum(stop - start for start, stop in union(intervals))


def split(device, first, last):
    clipped = lambda events: [(max(begin(e), first), min(end(e), last)) for e in events]
    kernels = [e for e in device if e["cat"].lower() == "kernel"]
    comm = clipped(e for e in kernels if is_communication(e))
    compute = clipped(e for e in kernels if not is_communication(e))
    busy = length(clipped(device))
    exposed = length(comm + compute) - length(compute)
    parts = {"wall": last - first, "busy": busy, "compute": length(compute), "comm": length(comm), "comm_exposed": exposed,
             "idle": last - first - busy}
    return {key: round(value / 1000, 3) for key, value in parts.items()}


def whole_window(device):
    return split(device, min(map(begin, device)), max(map(end, device))) if device else None


def agree(mine, other, what):
    wall = max(1e-3, other["wall"])
    for key in mine:
        assert abs(mine[key] - other[key]) <= 0.002 * wall + 0.002, f"{what}: {key} {mine[key]} instead of {other[key]}"


def stats_of_cut(full_stats, trace, cut, steps):
    """The figures of the full set for the steps that stay; checked on the full trace and on the cut one."""
    device, all_device = in_category(cut, DEVICE), in_category(trace, DEVICE)
    marks = steps_of(cut)
    truth = full_stats.get("per_step_breakdown_ms", [])[:steps]
    for step in truth:
        mark = next(m for m in marks if m["name"] == step["step"])
        agree(split(all_device, begin(mark), end(mark)), step, "full trace, " + step["step"])
        agree(split(device, begin(mark), end(mark)), step, "cut trace, " + step["step"])
    if full_stats.get("gpu_window_ms") and all_device:
        agree(whole_window(all_device), full_stats["gpu_window_ms"], "full trace, window")
    between = lambda key: full_stats.get(key, [])[:None if steps is None else steps - 1]
    return {"gpu": full_stats["gpu"], "rank": full_stats["rank"], "world_size": full_stats["world_size"],
            "kernels": sum(e["cat"].lower() == "kernel" for e in device),
            "profiler_steps_ms": dict(list(full_stats["profiler_steps_ms"].items())[:steps]),
            "step_start_to_start_ms": between("step_start_to_start_ms"), "gpu_start_to_start_ms": between("gpu_start_to_start_ms"),
            "per_step_breakdown_ms": truth, "gpu_attrib": full_stats.get("gpu_attrib", [])[:steps], "gpu_window_ms": whole_window(device)}


def kineto(full, out, entry, steps):
    trace = load_json(full / entry["path"])
    cut = with_header(trace, cut_kineto(trace, steps))
    written(out / entry["path"], compact(cut))
    return {"steps_kept": steps, "stats": stats_of_cut(entry["stats"], trace, cut, steps)} if steps else \
           {"stats": stats_of_cut(entry["stats"], trace, cut, None)}


# ---- PyTorch execution traces ---------------------------------------------------------------------------------------------------------

ET_KEYS = ["name", "id", "rf_id", "parent", "tid", "input_shapes", "input_types"]


def with_callers(nodes, names):
    """Ids of the nodes of these names and of all above them."""
    by_id = {node["id"]: node for node in nodes}
    kept = set()
    for node in nodes:
        at = node if node["name"] in names or node["parent"] == 1 else None
        while at is not None and at["id"] not in kept:
            kept.add(at["id"])
            at = by_id.get(at["parent"])
    return kept


def execution_trace(full, out, entry, timed, names):
    """Nodes of some ops, and those above them."""
    trace = load_json(full / entry["path"])
    names = names or {e["name"] for e in events_of(load_json(out / timed)) if e["cat"] in OPS | NOTES}
    kept = with_callers(trace["nodes"], names)
    nodes = [{key: n[key] for key in ET_KEYS} | ({"inputs": n["inputs"]} if n["name"] == "record_param_comms" else {})
             for n in trace["nodes"] if n["id"] in kept]
    written(out / entry["path"], compact({"schema": trace["schema"], "pid": trace["pid"], "nodes": nodes}))
    return {"stats": {"schema": trace["schema"], "nodes": len(nodes)}}


# ---- Nsight Systems -------------------------------------------------------------------------------------------------------------------

NSYS_COLUMNS = {
    "CUPTI_ACTIVITY_KIND_KERNEL": ("start end deviceId contextId streamId correlationId globalPid demangledName shortName "
                                   "gridX gridY gridZ blockX blockY blockZ"),
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start end deviceId contextId streamId correlationId globalPid bytes copyKind",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start end deviceId contextId streamId correlationId globalPid bytes",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end globalTid correlationId nameId",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "start end deviceId streamId correlationId globalPid syncType eventSyncId",
    "TARGET_INFO_GPU": "id name totalMemory smCount cuDevice",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs",
}
NAMES = ("demangledName", "shortName", "nameId")


def copy_table(source, target, table, columns, strings):
    if source.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0] == 0:
        return
    rows = source.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
    if table == "CUPTI_ACTIVITY_KIND_RUNTIME":
        launching = {r[0] for kind in ("KERNEL", "MEMCPY", "MEMSET", "SYNCHRONIZATION") if target.execute(
            "SELECT count(*) FROM sqlite_master WHERE name = ?", (f"CUPTI_ACTIVITY_KIND_{kind}",)).fetchone()[0]
            for r in target.execute(f"SELECT correlationId FROM CUPTI_ACTIVITY_KIND_{kind}")}
        rows = [r for r in rows if r[3] in launching]
    strings.update(value for row in rows for column, value in zip(columns, row) if column in NAMES)
    target.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
    target.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", rows)


def nsys(full, out, entry):
    """GPU work, the calls that launched it, the waits; no ranges, no lists of the machine's processes, environment or settings."""
    with tempfile.TemporaryDirectory() as folder:
        old, new = pathlib.Path(folder) / "old.sqlite", pathlib.Path(folder) / "new.sqlite"
        old.write_bytes(gzip.decompress((full / entry["path"]).read_bytes()))
        source, target, strings = sqlite3.connect(old), sqlite3.connect(new), set()
        order = sorted(NSYS_COLUMNS, key=lambda table: table == "CUPTI_ACTIVITY_KIND_RUNTIME")  # after what it launches
        for table in order:
            copy_table(source, target, table, NSYS_COLUMNS[table].split(), strings)
        target.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value)")
        target.executemany("INSERT INTO StringIds VALUES (?, ?)", [r for r in source.execute("SELECT id, value FROM StringIds ORDER BY id") if r[0] in strings])
        target.execute("CREATE TABLE META_DATA_EXPORT (name, value)")
        target.executemany("INSERT INTO META_DATA_EXPORT VALUES (?, ?)", source.execute("SELECT name, value FROM META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION'"))
        target.commit()
        target.execute("VACUUM")
        target.close()
        written(out / entry["path"], new.read_bytes())
    return {"stats": entry["stats"]}


# ---- Chakra ---------------------------------------------------------------------------------------------------------------------------

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def varint_bytes(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def fields(message):
    """(number, wire type, value) of a protocol buffer; only varints and byte strings occur."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        if key & 7 == 0:
            value, at = varint(message, at)
        else:
            assert key & 7 == 2, "expected a varint or bytes"
            size, at = varint(message, at)
            value, at = message[at:at + size], at + size
        yield key >> 3, key & 7, value


def field_bytes(number, wire, value):
    body = varint_bytes(value) if wire == 0 else varint_bytes(len(value)) + value
    return varint_bytes(number << 3 | wire) + body


def messages(data):
    at = 0
    while at < len(data):
        size, at = varint(data, at)
        yield data[at:at + size]
        at += size


def joined(parts):
    return b"".join(varint_bytes(len(m)) + m for m in parts)


NODE_ID, NODE_TYPE, CONTROL, DATA, COLLECTIVE = 1, 3, 4, 5, 7


def numbers(packed):
    at, out = 0, []
    while at < len(packed):
        value, at = varint(packed, at)
        out.append(value)
    return out


def node_without_tensors(message, known):
    """Id, name, type, times, attributes; dependencies on nodes that stay; no tensors."""
    out = b""
    for number, wire, value in fields(message):
        if number in (CONTROL, DATA):
            value = b"".join(varint_bytes(n) for n in (numbers(value) if wire == 2 else [value]) if n in known)
            wire = 2
        if number not in (8, 9) and value != b"":
            out += field_bytes(number, wire, value)
    return out


def chakra(full, out, entry):
    """Nodes up to the twelfth collective."""
    metadata, *nodes = messages(gzip.decompress((full / entry["path"]).read_bytes()))
    known, kept, collectives = set(), [], 0
    for node in nodes:
        values = {number: value for number, _, value in fields(node)}
        known.add(values[NODE_ID])
        kept.append(node)
        collectives += values.get(NODE_TYPE) == COLLECTIVE
        if collectives == CHAKRA_COLLECTIVES:
            break
    version = b"".join(field_bytes(n, w, v) for n, w, v in fields(metadata) if b"schema" in (v if w == 2 else b""))
    written(out / entry["path"], joined([version] + [node_without_tensors(n, known) for n in kept]))
    return {"stats": {"nodes": len(kept), "collectives": collectives}}


def astra(full, out, entry):
    """As it is, without the schedule's XML that the file carries as an attribute of its head."""
    head, *nodes = messages((full / entry["path"]).read_bytes())
    head = b"".join(field_bytes(n, w, v) for n, w, v in fields(head) if not (w == 2 and b"input_file" in v))
    written(out / entry["path"], joined([head] + nodes))
    return {"stats": {"nodes": len(nodes)}}


def chakra_json(full, out, entry):
    graph = json.loads((full / entry["path"]).read_text())
    written(out / entry["path"], json.dumps(graph, indent=1).encode() + b"\n")
    return {"stats": {"nodes": len(graph["workload_graph"])}}


# ---- all ------------------------------------------------------------------------------------------------------------------------------

def cut_all(full, out):
    entries = {entry["path"]: entry for entry in json.loads((full / "manifest.json").read_text())}
    jobs = [(path, lambda e, steps=steps: kineto(full, out, e, steps)) for path, steps in KINETO.items()]
    jobs += [(path, lambda e, pair=pair: execution_trace(full, out, e, *pair)) for path, pair in EXECUTION_TRACES.items()]
    jobs += [(path, lambda e: nsys(full, out, e)) for path in NSYS]
    jobs += [(CHAKRA, lambda e: chakra(full, out, e)), (CHAKRA_JSON, lambda e: chakra_json(full, out, e))]
    jobs += [(path, lambda e: astra(full, out, e)) for path in ASTRA]
    manifest = []
    for path, cut in jobs:
        entry = entries[path]
        manifest.append({key: entry[key] for key in ("path", "kind", "licence", "origin")} | cut(entry))
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    truth = json.loads((full / "multirank_megatron.json").read_text())
    (out / "multirank_megatron.json").write_text(json.dumps(truth, indent=1) + "\n")
    return [f"traces/{path}: {(out / path).stat().st_size} bytes" for path, _ in jobs]
