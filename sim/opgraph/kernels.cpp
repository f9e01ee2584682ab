#include "sim/opgraph/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "sim/opgraph/kernel_tables.hpp"

namespace distsim::opgraph {
namespace {

using Entry = KernelEntry;

const Entry* entry_named(std::string_view name) {
  static const std::unordered_map<std::string_view, const Entry*> all = [] {
    std::unordered_map<std::string_view, const Entry*> out;
    for (const std::span<const Entry> table : {kernels_of_layers(), kernels_of_pointwise(), kernels_of_movement()}) {
      for (const Entry& e : table) out.emplace(e.name, &e);
    }
    return out;
  }();
  const auto at = all.find(name);
  return at == all.end() ? nullptr : at->second;
}

bool launches_nothing(std::string_view name) {
  static const std::unordered_set<std::string_view> all(names_of_nothing().begin(), names_of_nothing().end());
  return all.contains(name);
}

/// Triton kernels of torch.compile, by what their names begin with; products of templates are not among them.
const Entry* triton_entry(std::string_view name) {
  static constexpr Entry kTriton[] = {{"triton_poi_", make_pointwise, kSpecialFlops},
                                      {"triton_red_", make_reduction, kSpecialFlops},
                                      {"triton_per_", make_reduction, kSpecialFlops}};
  const auto at = std::ranges::find_if(kTriton, [&](const Entry& e) { return name.starts_with(e.name); });
  return at == std::end(kTriton) ? nullptr : at;
}

/// An op in place has a name that ends in "_"; where it has an entry of its own, that one holds.
const Entry* entry_of(std::string_view op) {
  const std::string_view name = base_name(op);
  if (const Entry* own = entry_named(name)) return own;
  if (name.starts_with("triton_")) return triton_entry(name);
  return name.ends_with("_") ? entry_named(name.substr(0, name.size() - 1)) : nullptr;
}

bool in_place(std::string_view op) { return base_name(op).ends_with("_"); }

std::vector<graph::Op> unlisted(const Call& call) {
  const double read = call.read_bytes(), written = call.written_bytes();
  if (read + written < 1) return {};
  graph::Unlisted op;
  op.read_bytes = count(read), op.written_bytes = count(written);
  op.flops = count(call.sizes().elements(call.largest()));
  return {op};
}

/// Work of which only operations and bytes are known: a product of as many operations where its name says that it is one, or
/// nothing is known of its bytes, else a kernel that streams.
graph::Op stated(std::string_view name, const StatedWork& work) {
  constexpr std::string_view kProducts[] = {"mm",        "matmul", "gemm", "linear", "conv",
                                            "attention", "MM",     "Gemm", "Conv"};
  const bool product = work.bytes <= 0 || std::ranges::any_of(kProducts, [&](std::string_view part) {
                         return name.find(part) != name.npos;
                       });
  if (!product || work.flops < 2) return graph::Unlisted{count(work.bytes), 0, count(work.flops)};
  graph::Gemm op;
  op.m = op.n = op.k = count(std::round(std::cbrt(work.flops / 2)));
  return op;
}

/// Sizes of nothing are no kernels: an empty tensor, a view of one.
bool is_empty(const Call& call) {
  if (call.inputs().empty() && call.outputs().empty()) return true;
  return call.sizes().elements(call.largest()) < 1;
}

}  // namespace

std::string_view base_name(std::string_view op) {
  if (op.starts_with("aten::")) {
    op.remove_prefix(6);
    if (const std::size_t dot = op.find('.'); dot != op.npos) op = op.substr(0, dot);
  }
  return op;
}

Listing listing_of(std::string_view op) {
  if (entry_of(op) != nullptr) return Listing::kernels;
  std::string_view name = base_name(op);
  if (name.ends_with("_") && !name.ends_with("__")) name.remove_suffix(1);
  const bool nothing = launches_nothing(base_name(op)) || launches_nothing(name);
  return nothing ? Listing::nothing : Listing::unlisted;
}

bool is_pointwise(std::string_view op) {
  const Entry* entry = entry_of(op);
  if (entry == nullptr || (entry->make != make_pointwise && entry->make != make_elementwise)) return false;
  constexpr std::string_view kNeighbours[] = {"pool",          "pad",    "upsample", "im2col",       "col2im",
                                              "roll",          "flip",   "repeat",   "grid_sampler", "slice_backward",
                                              "masked_select", "shuffle"};
  return std::ranges::none_of(kNeighbours, [&](std::string_view part) { return op.find(part) != op.npos; });
}

Maker maker_of(std::string_view op) {
  const Entry* entry = entry_of(op);
  return entry == nullptr ? nullptr : entry->make;
}

Autocast autocast_of(std::string_view op) {
  if (in_place(op)) return Autocast::widest;
  const Entry* entry = entry_of(op);
  return entry == nullptr ? Autocast::widest : entry->autocast;
}

Kernels kernels_of(const Call& call) {
  if (const auto& work = call.node().work) return {{stated(call.node().op, *work)}, false};
  if (is_empty(call)) return {};
  const Entry* entry = entry_of(call.node().op);
  if (call.on_host()) return {};
  if (entry != nullptr) {
    if (Ops ops = entry->make(call, entry->flops)) return {std::move(*ops), true};
  }
  return {unlisted(call), false};
}

}  // namespace distsim::opgraph
