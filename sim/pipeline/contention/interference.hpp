// Interference: kernels that run beside a collective are slowed by what it takes of the GPU. While it transfers
//
//   SMs      each channel is a thread block that keeps an SM to itself: its 544 threads of 96 registers hold four fifths
//            of the register file, and no block of a matrix product fits beside it. Kernels bound by the SMs lose
//              busy channels / SMs of the device
//            where the channels that are busy, on average over the collective, are as many of all as it is slower than
//            its links (graph::Cost::channels): a byte takes the same SM time however many channels share the work
//   memory   each byte that NCCL sends is read 1.5 times, and written as often: an all-reduce reads own and received
//            data to reduce (2) and reads once to forward what is reduced (1), half of its bytes each; what arrives is
//            written to a buffer, and from there to its place. Kernels bound by memory lose
//              3 x busbw / memory bandwidth, at most half: memory serves both sides alike
//            (1.5 reads: 450 GB/s of memory for 300 GB/s of network, Rashidi et al., ACE, ISCA 2021)
//
// of the time of the overlap. A kernel loses by its shares (graph::BoundShares); latency loses nothing. The collective
// itself gets the SMs that it holds, and memory as long as it asks for less than half of it, which all links of today
// do. A loss is at most half of the collective's time, so that to overlap is never slower than not to.
#pragma once

#include "base/result.hpp"
#include "sim/pipeline/lower.hpp"
#include "sim/pipeline/passes/passed.hpp"
#include "sim/report/loop/loop_figures.hpp"

namespace distsim::pipeline {

/// What kernels and collectives share of a GPU.
struct SharedDevice {
  double sms = 1;
  double memory = 1;  ///< bytes/s, achievable
};

/// A program with its overlapping kernels lengthened, and the longest time added on any rank in one iteration.
struct Slowed {
  Lowered lowered;
  Duration kernels;
};

/// Plays a valid program and lengthens kernels by what they lose to its collectives, on each rank. Of a collective that lasts T and
/// shares w with kernels of mean loss r per second, these lose r x min(w / (1 - r), T): as they get longer they meet more
/// of it. The overlap is that of the last iteration; earlier iterations get the same. Kernels are the steps of the
/// compute stream that are no collectives. Errors: a time that would reach the limit of the engine.
Result<Slowed> slow_overlaps(Lowered lowered, const graph::CostedGraph& graph, const SharedDevice& device);

/// The same for a loop that was just played: what its steps take in the next play.
void slow_overlaps(const report::LoopPlay& play, const SharedDevice& device);

/// The pass `interfere`: plays the program once to see what overlaps, and slows that. An assumption says how much was
/// lost. A program in which nothing can overlap is returned as it is.
Result<Passed<Lowered>> interfere(Lowered lowered, const graph::CostedGraph& graph, const SharedDevice& device);

}  // namespace distsim::pipeline
