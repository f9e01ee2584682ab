#include "sim/pipeline/op_key.hpp"

#include <gtest/gtest.h>

#include <set>

namespace distsim::pipeline {
namespace {

/// Ops that differ in one field each: all their keys differ, and none equals that of the first.
TEST(OpKey, EveryFieldCounts) {
  std::vector<graph::Op> ops{graph::Gemm{},    graph::Conv2d{},    graph::Normalization{},
                             graph::Softmax{}, graph::Attention{}, graph::Elementwise{}};
  const auto with = [&](auto op, auto change) {
    change(op);
    ops.emplace_back(op);
  };
  for (auto member : {&graph::Gemm::batch, &graph::Gemm::m, &graph::Gemm::n, &graph::Gemm::k})
    with(graph::Gemm{}, [&](graph::Gemm& g) { g.*member = 7; });
  with(graph::Gemm{}, [](graph::Gemm& g) { g.dtype = graph::DType::bf16; });
  with(graph::Gemm{}, [](graph::Gemm& g) { g.pass = graph::Pass::backward_weight; });
  with(graph::Gemm{}, [](graph::Gemm& g) { g.fused_epilogue = true; });
  for (auto member : {&graph::Conv2d::n, &graph::Conv2d::c, &graph::Conv2d::h, &graph::Conv2d::w, &graph::Conv2d::k,
                      &graph::Conv2d::r, &graph::Conv2d::s, &graph::Conv2d::stride, &graph::Conv2d::pad,
                      &graph::Conv2d::dilation, &graph::Conv2d::groups}) {
    with(graph::Conv2d{}, [&](graph::Conv2d& c) { c.*member = 7; });
  }
  with(graph::Conv2d{}, [](graph::Conv2d& c) { c.dtype = graph::DType::bf16; });
  with(graph::Conv2d{}, [](graph::Conv2d& c) { c.channels_last = false; });
  with(graph::Conv2d{}, [](graph::Conv2d& c) { c.pass = graph::Pass::backward_weight; });
  with(graph::Normalization{}, [](graph::Normalization& v) { v.kind = graph::NormKind::batch; });
  with(graph::Normalization{}, [](graph::Normalization& v) { v.rows = 7; });
  with(graph::Normalization{}, [](graph::Normalization& v) { v.cols = 7; });
  with(graph::Normalization{}, [](graph::Normalization& v) { v.dtype = graph::DType::bf16; });
  with(graph::Normalization{}, [](graph::Normalization& v) { v.pass = graph::Pass::backward; });
  with(graph::Normalization{}, [](graph::Normalization& v) { v.fused_activation = true; });
  with(graph::Softmax{}, [](graph::Softmax& s) { s.rows = 7; });
  with(graph::Softmax{}, [](graph::Softmax& s) { s.cols = 7; });
  with(graph::Softmax{}, [](graph::Softmax& s) { s.dtype = graph::DType::bf16; });
  with(graph::Softmax{}, [](graph::Softmax& s) { s.pass = graph::Pass::backward; });
  for (auto member : {&graph::Attention::batch, &graph::Attention::heads, &graph::Attention::q_len,
                      &graph::Attention::kv_len, &graph::Attention::head_dim}) {
    with(graph::Attention{}, [&](graph::Attention& a) { a.*member = 7; });
  }
  for (auto member : {&graph::Attention::causal, &graph::Attention::flash, &graph::Attention::dropout})
    with(graph::Attention{}, [&](graph::Attention& a) { a.*member = true; });
  with(graph::Attention{}, [](graph::Attention& a) { a.dtype = graph::DType::bf16; });
  with(graph::Attention{}, [](graph::Attention& a) { a.pass = graph::Pass::backward; });
  with(graph::Elementwise{}, [](graph::Elementwise& e) { e.elements = 7; });
  for (auto member : {&graph::Elementwise::reads, &graph::Elementwise::writes, &graph::Elementwise::flops})
    with(graph::Elementwise{}, [&](graph::Elementwise& e) { e.*member = 7; });
  with(graph::Elementwise{}, [](graph::Elementwise& e) { e.dtype = graph::DType::bf16; });
  std::set<OpKey> keys;
  for (const graph::Op& op : ops) keys.insert(key_of(op).value());
  EXPECT_EQ(keys.size(), ops.size());
}

TEST(OpKey, RareKindsHaveNone) {
  EXPECT_FALSE(key_of(graph::EmbeddingBag{}));
  EXPECT_FALSE(key_of(graph::Collective{}));
}

}  // namespace
}  // namespace distsim::pipeline
