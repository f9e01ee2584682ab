#include "sim/app/op_key.hpp"

#include <gtest/gtest.h>

#include <set>

namespace distsim {
namespace {

/// Ops that differ in one field each: all their keys differ, and none equals that of the first.
TEST(OpKey, EveryFieldCounts) {
  std::vector<Op> ops{Gemm{}, Conv2d{}, Normalization{}, Softmax{}, Attention{}, Elementwise{}};
  const auto with = [&](auto op, auto change) { change(op); ops.emplace_back(op); };
  for (auto member : {&Gemm::batch, &Gemm::m, &Gemm::n, &Gemm::k}) with(Gemm{}, [&](Gemm& g) { g.*member = 7; });
  with(Gemm{}, [](Gemm& g) { g.dtype = DType::bf16; });
  with(Gemm{}, [](Gemm& g) { g.pass = Pass::backward_weight; });
  with(Gemm{}, [](Gemm& g) { g.fused_epilogue = true; });
  for (auto member : {&Conv2d::n, &Conv2d::c, &Conv2d::h, &Conv2d::w, &Conv2d::k, &Conv2d::r, &Conv2d::s, &Conv2d::stride, &Conv2d::pad, &Conv2d::dilation,
                      &Conv2d::groups}) {
    with(Conv2d{}, [&](Conv2d& c) { c.*member = 7; });
  }
  with(Conv2d{}, [](Conv2d& c) { c.dtype = DType::bf16; });
  with(Conv2d{}, [](Conv2d& c) { c.channels_last = false; });
  with(Conv2d{}, [](Conv2d& c) { c.pass = Pass::backward_weight; });
  with(Normalization{}, [](Normalization& v) { v.kind = NormKind::batch; });
  with(Normalization{}, [](Normalization& v) { v.rows = 7; });
  with(Normalization{}, [](Normalization& v) { v.cols = 7; });
  with(Normalization{}, [](Normalization& v) { v.dtype = DType::bf16; });
  with(Normalization{}, [](Normalization& v) { v.pass = Pass::backward; });
  with(Normalization{}, [](Normalization& v) { v.fused_activation = true; });
  with(Softmax{}, [](Softmax& s) { s.rows = 7; });
  with(Softmax{}, [](Softmax& s) { s.cols = 7; });
  with(Softmax{}, [](Softmax& s) { s.dtype = DType::bf16; });
  with(Softmax{}, [](Softmax& s) { s.pass = Pass::backward; });
  for (auto member : {&Attention::batch, &Attention::heads, &Attention::q_len, &Attention::kv_len, &Attention::head_dim}) {
    with(Attention{}, [&](Attention& a) { a.*member = 7; });
  }
  for (auto member : {&Attention::causal, &Attention::flash, &Attention::dropout}) with(Attention{}, [&](Attention& a) { a.*member = true; });
  with(Attention{}, [](Attention& a) { a.dtype = DType::bf16; });
  with(Attention{}, [](Attention& a) { a.pass = Pass::backward; });
  with(Elementwise{}, [](Elementwise& e) { e.elements = 7; });
  for (auto member : {&Elementwise::reads, &Elementwise::writes, &Elementwise::flops}) with(Elementwise{}, [&](Elementwise& e) { e.*member = 7; });
  with(Elementwise{}, [](Elementwise& e) { e.dtype = DType::bf16; });
  std::set<OpKey> keys;
  for (const Op& op : ops) keys.insert(key_of(op).value());
  EXPECT_EQ(keys.size(), ops.size());
}

TEST(OpKey, RareKindsHaveNone) {
  EXPECT_FALSE(key_of(EmbeddingBag{}));
  EXPECT_FALSE(key_of(Collective{}));
}

}  // namespace
}  // namespace distsim
