#!/usr/bin/env python3
"""Writes formats/: one small file of each trace format, by hand. The tests of the registry cut each at every byte.

  make_format_samples.py
"""
import json
import pathlib
import sqlite3

OUT = pathlib.Path(__file__).resolve().parent / "formats"


def compact(value) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def event(category, name, process, thread, start, duration, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, "ts": start, "dur": duration, "args": args}


def kineto() -> bytes:
    """Two steps, in each a kernel that an op launched and an all-reduce behind it."""
    events = []
    for step in range(2):
        t = 1000 + 100 * step
        events += [
            event("user_annotation", f"ProfilerStep#{step + 1}", 5, 10, t, 100),
            event("cpu_op", "aten::mm", 5, 10, t + 5, 20, **{"External id": 11 + step, "Input Dims": [[64, 32], [32, 16]]}),
            event("cuda_runtime", "cudaLaunchKernel", 5, 10, t + 10, 4, correlation=11 + step),
            event("kernel", "gemm", 0, 7, t + 20, 40, device=0, stream=7, correlation=11 + step, grid=[4, 1, 1], block=[128, 1, 1]),
            event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 0, 9, t + 60, 10, device=0, stream=9, correlation=21 + step),
        ]
    return compact({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "G"}], "traceEvents": events,
                    "distributedInfo": {"rank": 1, "world_size": 2}})


def execution_trace() -> bytes:
    def attribute(name, kind, value):
        return {"name": name, "type": kind, "value": value}

    mm = {"id": 2, "name": "aten::mm", "ctrl_deps": 1,
          "inputs": {"values": [[1, 2, 0, 4, 4, "cpu"]], "shapes": [[2, 2]], "types": ["Tensor(float)"]},
          "outputs": {"values": [], "shapes": [[2, 2]], "types": ["Tensor(float)"]},
          "attrs": [attribute("rf_id", "uint64", 7), attribute("scope", "uint64", 0)]}
    reduce = {"id": 3, "name": "record_param_comms", "ctrl_deps": 2,
              "inputs": {"values": [[], 1, ["0", "pg"], 0, "allreduce", [], [], 4], "shapes": [[[8]], [], [[], []]],
                         "types": ["GenericList[Tensor(float)]", "Int", "Tuple[String,String]"]},
              "outputs": {}, "attrs": [attribute("pg_size", "int64", 4)]}
    return compact({"schema": "1.1.1-chakra.0.0.4", "nodes": [mm, reduce], "finish_ts": 1})


def prof_json() -> bytes:
    times = {"measured_times_ms": [0.5, 0.1, 0.2], "iter_start_to_event_start_times_ms": [0.3, 0.1, 0.9]}
    events = [{"device_id": d, "stream": s, "layer_name": "BottomMLP.fc1", "name": "fprop", "start_index": 0, "end_index": 1, **times}
              for d, s in ((1, "0x7f10"), (0, "0x1"))]
    return compact({"host_name": "h", "iter_time_ms": [3, 2, 100], "events": events, "runtime_data": []})


GPUTRACE = b"""Processing [report.sqlite] with [cuda_gpu_trace.py]...

Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Bytes (MB),Device,Ctx,Strm,Name
1000,2500,11,4,1,1,128,1,1,,NVIDIA A100 (1),1,7,"void k<int, 2>(""x"")"
4000,1000,12,,,,,,,4.2,NVIDIA A100 (1),1,7,[CUDA memcpy Host-to-Device]
6000,900,13,2,1,1,64,1,1,,NVIDIA A100 (1),1,8,ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)
"""

# As nvprof 10 to 11 prints it: units below the titles, the correlation id behind a kernel's name.
NVPROF = b"""==4242== NVPROF is profiling process 4242, command: ./train
==4242== Profiling application: ./train
==4242== Profiling result:
"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Registers Per Thread","Static SMem","Dynamic SMem","Size","Throughput","SrcMemType","DstMemType","Device","Context","Stream","Name"
ms,us,,,,,,,,KB,B,MB,GB/s,,,,,,
221.264000,1.216000,,,,,,,,,,4.000000,3.2,"Pageable","Device","Tesla V100-SXM2-16GB (0)","1","7","[CUDA memcpy HtoD]"
221.275000,10.500000,64,1,1,256,1,1,32,1.5,0,,,,,"Tesla V100-SXM2-16GB (0)","1","7","volta_sgemm_128x64_nn [106]"
221.290000,3.000000,1,1,1,64,1,1,16,0,0,,,,,"Tesla V100-SXM2-16GB (0)","1","14","ncclAllReduceRingLLKernel_sum_f32(ncclColl) [107]"
"""

# A table for each kind of CUPTI's activity records, a column for each field; markers of thread 3 of process 9.
NVVP = """
PRAGMA page_size = 512;
CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringTable VALUES(1,'_Z4gemmPf'),(2,'layer 1'),(3,'Tesla V100');
CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(_id_ INTEGER PRIMARY KEY,start,end,deviceId,contextId,streamId,correlationId,gridX,blockX,name);
INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES(1,2000,5000,0,1,7,42,4,128,1),(2,6000,7000,0,1,7,43,4,128,1);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(_id_ INTEGER PRIMARY KEY,copyKind,bytes,start,end,deviceId,contextId,streamId,correlationId);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(1,1,4096,7500,8000,0,1,7,44);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(_id_ INTEGER PRIMARY KEY,cbid,start,end,processId,threadId,correlationId);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1,211,1000,1500,9,3,42);
CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER(_id_ INTEGER PRIMARY KEY,flags,timestamp,id,objectKind,objectId BLOB,name);
INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES(1,2,500,1,2,X'090000000300000000000000',2),(2,4,1800,1,2,X'090000000300000000000000',0);
CREATE TABLE CUPTI_ACTIVITY_KIND_DEVICE(_id_ INTEGER PRIMARY KEY,id,name,globalMemorySize,numMultiprocessors);
INSERT INTO CUPTI_ACTIVITY_KIND_DEVICE VALUES(1,0,3,16000000000,80);
VACUUM;
"""

# Process 9 on GPU 0: globalPid = 9 << 24, globalTid = (9 << 24) + 3.
NSYS = """
PRAGMA page_size = 512;
CREATE TABLE META_DATA_EXPORT(name, value);
INSERT INTO META_DATA_EXPORT VALUES('EXPORT_SCHEMA_VERSION','3.20.3');
CREATE TABLE StringIds(id, value);
INSERT INTO StringIds VALUES(1,'gemm'),(2,'cudaLaunchKernel_v7000'),(3,'layer 1');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start,end,deviceId,contextId,streamId,correlationId,globalPid,demangledName);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(2000,5000,0,1,7,42,150994944,1),(6000,7000,0,1,7,43,150994944,1);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start,end,globalTid,correlationId,nameId);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1000,1500,150994947,42,2);
CREATE TABLE NVTX_EVENTS(start,end,eventType,text,textId,globalTid);
INSERT INTO NVTX_EVENTS VALUES(500,1800,59,NULL,3,150994947);
VACUUM;
"""


def database(name: str, script: str) -> bytes:
    path = OUT / name
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript(script)
    db.close()
    return path.read_bytes()


def varint(v: int) -> bytes:
    out = b""
    while v >= 128:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def number(field: int, v: int) -> bytes:
    return varint(field << 3) + varint(v)


def text(field: int, v: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(v)) + v


def chakra() -> bytes:
    """A kernel of 5 us, then an all-reduce of 1 MiB that waits for it. Messages behind their lengths."""
    compute = number(1, 1) + text(2, b"gemm") + number(3, 4) + number(7, 5)
    reduce = (number(1, 2) + text(2, b"all_reduce") + number(3, 7) + text(5, varint(1)) +
              text(10, text(1, b"comm_type") + number(9, 0)) + text(10, text(1, b"comm_size") + number(9, 1 << 20)))
    messages = [text(1, b"0.0.4"), compute, reduce]
    return b"".join(varint(len(m)) + m for m in messages)


def main() -> None:
    OUT.mkdir(exist_ok=True)
    samples = {"kineto.json": kineto(), "execution_trace.json": execution_trace(), "host.prof.json": prof_json(),
               "gputrace.csv": GPUTRACE, "nsys.sqlite": database("nsys.sqlite", NSYS),
               "nvprof.csv": NVPROF, "nvprof.nvvp": database("nvprof.nvvp", NVVP), "chakra.0.et": chakra()}
    for name, data in samples.items():
        (OUT / name).write_bytes(data)


if __name__ == "__main__":
    main()
