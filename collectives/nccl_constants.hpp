// Constants of NCCL's tuning model: the one place to look for a figure and its source.
//
// Source of the tables: NCCL 2.30.7 src/graph/tuning.cc (Apache-2.0 with LLVM exception; figures only), GB/s and microseconds. Rows of three are
// LL, LL128, Simple. `kMeasured...` constants are ours, found on published nccl-tests sweeps; each says on which.
#pragma once

#include <array>

namespace distsim::collectives {

using PerProtocol = std::array<double, 3>;
using PerGeneration = std::array<double, 4>;   // Volta, Ampere, Hopper, Blackwell
using PerScale = std::array<double, 3>;        // 1 node, 2 nodes, more

inline constexpr PerProtocol kRingBase{6.6, 14.0, 8.4};
inline constexpr PerProtocol kTreeBase{6.8, 14.0, 8.4};
inline constexpr PerProtocol kRingNvlink{0.6, 1.9, 3.4};
inline constexpr PerProtocol kRingPci{1.0, 2.5, 5.7};
inline constexpr PerProtocol kRingNet{2.7, 4.0, 14.0};
inline constexpr PerProtocol kTreeNvlink{0.6, 1.25, 4.0};
inline constexpr PerProtocol kTreePci{1.0, 1.9, 4.0};
inline constexpr PerProtocol kTreeNet{5.0, 8.5, 14.0};
inline constexpr double kNvlsIntra = 25.0, kNvlsNet = 18.0, kNvlsTreeNet = 20.9;
inline constexpr double kCollnetIntra = 3.7, kCollnetPerRank = 0.4, kCollnetNet = 31.0;
inline constexpr double kPatBase = 8.0, kPatNet = 14.0, kPatPipelining = 3.5, kPatPerRank = 2.8, kPatShare = 0.75;
/// Network set-up a step cannot undercut on more than one node; three times as much with Simple.
inline constexpr double kNetOverhead = 1.0;

/// Most that LL reaches over all channels: [generation][scale].
inline constexpr std::array<PerScale, 4> kLlMax{{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
/// Most that one channel carries: [generation][scale].
inline constexpr std::array<PerScale, 4> kRingLl128PerChannel{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}};
inline constexpr std::array<PerScale, 4> kTreeLl128PerChannel{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
inline constexpr std::array<PerScale, 4> kTreePerChannel{{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
inline constexpr std::array<PerScale, 4> kNvlsTreePerChannel{{{0, 0, 0}, {0, 0, 0}, {0, 57.7, 45.5}, {0, 96, 80}}};

/// Tree bandwidth by size, 64 B .. 256 MiB in factors of two.
inline constexpr std::array<std::array<double, 23>, 3> kTreeCorrection{{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
}};

/// Share of the data sheet's NVLink rate that NCCL plans with (topo.h: 20, 20, 20.6 of 25 GB/s a link; 40.1 of 50). Volta reaches more
/// than NCCL plans: 123.6 of 150 GB/s on DGX-2.
inline constexpr PerGeneration kNvlinkUsable{0.84, 0.80, 0.824, 0.802};
inline constexpr PerGeneration kLinkGbps{25, 25, 25, 50};
/// One-way small-message latency of the InfiniBand behind kRingNet and kTreeNet.
inline constexpr double kReferenceNetUs = 2.0;
inline constexpr double kReferenceNvlinkUs = 0.7, kReferencePcieUs = 1.5;

/// Share of the planned bandwidth that Simple reaches at its best: rings (A100 x8 235 of 240, DGX A100 2 nodes 188.5 of 192), trees (NCCL plans .92).
/// GB200 x4 reaches 0.86 of the planned links. Trees on two nodes pass what NCCL plans (OCI A100: 127 GB/s algbw where 110 are planned).
inline constexpr PerGeneration kRingSimpleShare{0.98, 0.98, 0.98, 0.86};
inline constexpr double kTreeSimpleShare = 1.05;
/// Broadcast and reduce floors are 5 to 9 us with a rank per process, below NCCL's base latency (V100, A100 on 1 to 32 nodes).
inline constexpr double kPipelinedBaseShare = 0.9;
/// Share of the nominal links that NVLS all_reduce reaches (H100 x8 480 GB/s busbw, B200 x8 845), and AG/RS of the planned ones.
inline constexpr PerGeneration kMeasuredNvlsShare{0, 0, 0.686, 0.604};
inline constexpr double kMeasuredNvlsHalfShare = 1.05;
/// SHARP: share of the node's NIC rate (ABCI A 2 nodes: 56 of 96 GB/s).
inline constexpr double kMeasuredSharpShare = 0.58;
/// all_to_all: share of nominal NVLink (A100 x8 224 of 300, H100 x8 346 of 450, GB300 x4 628 of 900) and of the NIC rate.
inline constexpr PerGeneration kMeasuredExchangeShare{0.75, 0.75, 0.77, 0.69};
inline constexpr double kMeasuredExchangeNetShare = 0.92, kMeasuredPcieExchangeShare = 0.8;
/// send_recv between neighbours: 195 of 300 GB/s on A100 x8.
inline constexpr double kMeasuredSendShare = 0.65;
/// Floors of grouped send/recv: 42 us for 16 B300 on 2 nodes, 47 us for 16 RTX 6000D.
inline constexpr double kExchangeBaseUs = 8.0, kExchangePerPeerUs = 1.2, kExchangePerNetPeerUs = 2.2, kExchangeSimpleUs = 3.0;
/// Hierarchical all_to_all: a kernel and its synchronisation for each of the two phases, and a message posted to a rail. Estimates: a small message over
/// NVLink within a kernel takes about 8 us (the floor of grouped send/recv), a NIC takes about 1.6 million messages a second from one proxy thread.
inline constexpr double kHierarchicalPhaseUs = 8.0, kHierarchicalPerMessageUs = 0.6;
inline constexpr double kSendBaseUs = 6.0, kGatherPerPeerUs = 0.5;

/// Host time of one process that launches on all its GPUs in turn, per GPU. It hides what the GPU does meanwhile, so it is a floor and not an addition:
/// A100 x8 34-39 us, DGX-2 x12 60, RTX 4090 x8 39, A100 PCIe x4 23, L40S x4 17, x2 9; at 1 MB the same times as with a process per GPU.
inline constexpr double kHostPerGpuUs = 4.6;
/// The same for grouped send/recv, for each pair of a GPU and a peer (A100 x8: 86 us for 64 pairs).
inline constexpr double kHostPerPairUs = 0.78;

/// Ramp: what filling and draining the pipeline costs a message that is long enough to fill it, in us. Shorter messages pay a part, see Candidate.
/// NCCL's model has no such term; without it, predictions are up to twice too fast from 16 KB to 64 MB. LL, then LL128 and Simple, by generation.
/// Found on A100 x8 (5 sweeps), V100 x4, H100 x8, GB200 x4; more across nodes (A100, H100 2 nodes).
inline constexpr PerGeneration kRampLl{30, 80, 8, 8}, kRampBulk{40, 80, 55, 45};
inline constexpr double kRampAcrossNodes = 1.5;
/// A broadcast or reduce fills a pipeline through all nodes one after the other: a chunk's time and a network hop for each further node. Found on ABCI,
/// 2 to 32 nodes.
inline constexpr PerProtocol kRampPerNode{3, 20, 60};

/// What one network hop costs beyond NCCL's figures for InfiniBand, by the libraries in between. EFA: 2-node floors of p3dn (135 us), p4d (175), p5 (65).
inline constexpr PerGeneration kEfaHopUs{50, 65, 18, 10};
inline constexpr double kTcpHopUs = 30;
/// Share of the network rate that is left over EFA before Hopper (p4d 43.8 of 50 GB/s, p3dn 8.8 of 12.5), and without GPUDirect.
inline constexpr PerGeneration kEfaShare{0.75, 0.90, 1.0, 1.0};
inline constexpr double kNoGpuDirectShare = 0.5;
/// Rings over PCIe with peer-to-peer: 15.7 of 26 GB/s on L40S x2.
inline constexpr double kPcieRingShare = 0.62;

}  // namespace distsim::collectives
