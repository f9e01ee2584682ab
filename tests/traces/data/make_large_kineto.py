#!/usr/bin/env python3
"""Writes a Kineto trace of a given size, to see what reading it costs: make_large_kineto.py FILE MEGABYTES.

Steps of 2000 ops, each op with its shapes, a runtime call, a kernel and a launch arrow, as a profiler with
record_shapes=True writes them; the kernels of a step on two streams, every tenth of them a collective.
Events stand as Kineto writes them: those of the host first, then those of the device, step by step."""
import sys

OPS = 2000


def host_events(step, out):
    begin = step * 30_000.0
    out.append('{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%d","pid":5,"tid":10,"ts":%.3f,"dur":29990.000,'
               '"args":{"External id":%d}}' % (step, begin, step * OPS * 2 + 1))
    for i in range(OPS):
        correlation, ts = step * OPS + i + 1, begin + 10 + 14.0 * i
        out.append('{"ph":"X","cat":"cpu_op","name":"aten::op_%d","pid":5,"tid":10,"ts":%.3f,"dur":12.500,"args":{"External id":%d,'
                   '"Record function id":%d,"Ev Idx":%d,"Input Dims":[[64,%d,56,56],[64,64,3,3],[],[],[],[],[],[],[]],"Input type":'
                   '["float","float","","ScalarList","ScalarList","ScalarList","Scalar","ScalarList","Scalar"]}}'
                   % (i % 300, ts, correlation * 2, correlation, correlation, i % 64 + 1))
        out.append('{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":5,"tid":10,"ts":%.3f,"dur":4.250,"args":'
                   '{"External id":%d,"cbid":211,"correlation":%d}}' % (ts + 6, correlation * 2, correlation))


def device_events(step, out):
    begin = step * 30_000.0
    for i in range(OPS):
        correlation, ts = step * OPS + i + 1, begin + 30 + 14.0 * i
        collective = i % 10 == 9
        name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)" if collective else (
            "void at::native::vectorized_elementwise_kernel<4, at::native::kernel_%d<float>>(int, float, float*)" % (i % 300))
        stream = 20 if collective else 7
        out.append('{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":%d,"ts":%.3f,"dur":%.3f,"args":{"External id":%d,"queued":0,'
                   '"device":0,"context":1,"stream":%d,"correlation":%d,"registers per thread":32,"shared memory":0,"blocks per SM":'
                   '4.5,"warps per SM":36.0,"grid":[%d,1,1],"block":[256,1,1],"est. achieved occupancy %%":56}}'
                   % (name, stream, ts, 9 + i % 7, correlation * 2, stream, correlation, i % 5000 + 1))
        out.append('{"ph":"s","id":%d,"pid":5,"tid":10,"ts":%.3f,"cat":"ac2g","name":"ac2g"}' % (correlation, ts - 14))
        out.append('{"ph":"f","id":%d,"pid":0,"tid":%d,"ts":%.3f,"cat":"ac2g","name":"ac2g","bp":"e"}' % (correlation, stream, ts))


def size_of_step():
    out = []
    host_events(1000, out)
    device_events(1000, out)
    return sum(len(e) + 2 for e in out)


def main():
    path, megabytes = sys.argv[1], float(sys.argv[2])
    steps = max(1, round(megabytes * 1e6 / size_of_step()))
    with open(path, "w") as f:
        f.write('{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA A100-SXM4-40GB","totalGlobalMem":42505273344,"numSms":108}],'
                '"traceEvents":[\n{"ph":"M","name":"process_name","pid":5,"tid":0,"ts":0,"args":{"name":"python"}}')
        for events in (host_events, device_events):
            for step in range(steps):
                out = []
                events(step, out)
                f.write(",\n" + ",\n".join(out))
        f.write("\n]}\n")
    print("%d steps" % steps)


main()
