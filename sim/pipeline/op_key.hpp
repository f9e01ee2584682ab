// OpKey: the fields of an op as numbers, so that ops that are alike are priced once. A deep model has dozens of layers
// of the same shape.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "sim/graph/op.hpp"

namespace distsim::pipeline {

using OpKey = std::array<std::int64_t, 15>;

struct OpKeyHash {
  std::size_t operator()(const OpKey& key) const {
    std::uint64_t h = 0xcbf29ce484222325ull;
    for (const std::int64_t field : key)
      h = (h ^ static_cast<std::uint64_t>(field)) * 0x9E3779B97F4A7C15ull, h ^= h >> 29;
    return h;
  }
};

/// Equal keys are equal ops. Nothing for kinds that are priced in no time, or too seldom to be worth it.
inline std::optional<OpKey> key_of(const graph::Op& op) {
  const auto kind = static_cast<std::int64_t>(op.index());
  const auto n = [](auto e) { return static_cast<std::int64_t>(e); };
  if (const auto* g = std::get_if<graph::Gemm>(&op))
    return OpKey{kind, g->batch, g->m, g->n, g->k, n(g->dtype), n(g->pass), g->fused_epilogue};
  if (const auto* c = std::get_if<graph::Conv2d>(&op)) {
    return OpKey{kind,      c->n,      c->c,   c->h,        c->w,      c->k,        c->r,
                 c->s,      c->stride, c->pad, c->dilation, c->groups, n(c->dtype), c->channels_last,
                 n(c->pass)};
  }
  if (const auto* v = std::get_if<graph::Normalization>(&op))
    return OpKey{kind, n(v->kind), v->rows, v->cols, n(v->dtype), n(v->pass), v->fused_activation};
  if (const auto* s = std::get_if<graph::Softmax>(&op)) return OpKey{kind, s->rows, s->cols, n(s->dtype), n(s->pass)};
  if (const auto* a = std::get_if<graph::Attention>(&op)) {
    return OpKey{kind,      a->batch, a->heads,   a->q_len,    a->kv_len, a->head_dim,
                 a->causal, a->flash, a->dropout, n(a->dtype), n(a->pass)};
  }
  if (const auto* e = std::get_if<graph::Elementwise>(&op)) {
    return OpKey{kind,
                 e->elements,
                 std::bit_cast<std::int64_t>(e->reads),
                 std::bit_cast<std::int64_t>(e->writes),
                 std::bit_cast<std::int64_t>(e->flops),
                 n(e->dtype)};
  }
  return std::nullopt;
}

}  // namespace distsim::pipeline
