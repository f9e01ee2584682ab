#include "sim/study/plan/layouts/layout_keys.hpp"

#include <algorithm>

namespace distsim::study {
namespace {

using workload::ParallelSpec;

template <auto Member>
void copy_member(ParallelSpec& to, const ParallelSpec& from) {
  to.*Member = from.*Member;
}
template <auto Member>
std::string number_member(const ParallelSpec& p) {
  return std::to_string(p.*Member);
}
template <auto Member>
std::string switch_member(const ParallelSpec& p) {
  static constexpr const char* kWords[] = {"automatic", "false", "true"};
  return kWords[static_cast<std::size_t>(p.*Member)];
}

std::string sequence_text(const ParallelSpec& p) { return p.sequence_parallel ? "true" : "false"; }

std::string exchange_text(const ParallelSpec& p) {
  static constexpr const char* kWords[] = {"ring", "all_gather", "ulysses"};
  return kWords[static_cast<std::size_t>(p.context_exchange)];
}

std::string stages_text(const ParallelSpec& p) {
  std::string out = "[";
  for (std::size_t i = 0; i < p.stage_layers.size(); ++i)
    out += (i > 0 ? ", " : "") + std::to_string(p.stage_layers[i]);
  return out + "]";
}

std::string dispatch_text(const ParallelSpec& p) {
  if (!p.expert_dispatch) return "automatic";
  return *p.expert_dispatch == workload::ExpertDispatch::deepep ? "deepep" : "all_to_all";
}

using P = ParallelSpec;
#define NUMBER(member, head) \
  { #member, head, copy_member < &P::member>, number_member < &P::member> }
#define SWITCH(member, head) \
  { #member, head, copy_member < &P::member>, switch_member < &P::member> }

const LayoutKey kLayoutKeys[] = {
    NUMBER(tensor, "tp"),
    {"sequence_parallel", "sp", copy_member<&P::sequence_parallel>, sequence_text},
    NUMBER(context, "cp"),
    {"context_exchange", "exchange", copy_member<&P::context_exchange>, exchange_text},
    NUMBER(pipeline, "pp"),
    NUMBER(virtual_stages, "vs"),
    {"schedule", "schedule", copy_member<&P::schedule>, [](const P& p) { return std::string(name_of(p.schedule)); }},
    {"stage_layers", "layers", copy_member<&P::stage_layers>, stages_text},
    NUMBER(expert, "ep"),
    NUMBER(expert_tensor, "etp"),
    {"order", "order", copy_member<&P::order>, [](const P& p) { return std::string(name_of(p.order)); }},
    {"shard", "shard", copy_member<&P::shard>, [](const P& p) { return std::string(name_of(p.shard)); }},
    NUMBER(shard_group, "group"),
    NUMBER(micro_batch, "mb"),
    {"recompute", "recompute", copy_member<&P::recompute>, [](const P& p) { return text_of(p.recompute); }},
    {"offload", "offload", copy_member<&P::offload>, [](const P& p) { return std::string(name_of(p.offload)); }},
    SWITCH(overlap_gradients, "grad overlap"),
    SWITCH(overlap_parameters, "param overlap"),
    SWITCH(overlap_tensor, "tp overlap"),
    SWITCH(overlap_expert, "ep overlap"),
    SWITCH(overlap_pipeline, "pp overlap"),
    {"expert_dispatch", "dispatch", copy_member<&P::expert_dispatch>, dispatch_text},
    NUMBER(prefetch, "prefetch"),
};
#undef NUMBER
#undef SWITCH

constexpr std::string_view kParallelSection = "parallel.";

}  // namespace

std::span<const LayoutKey> layout_keys() { return kLayoutKeys; }

const LayoutKey* find_layout_key(std::string_view name) {
  if (name.starts_with(kParallelSection)) name.remove_prefix(kParallelSection.size());
  const auto* it = std::ranges::find(kLayoutKeys, name, &LayoutKey::name);
  return it == std::end(kLayoutKeys) ? nullptr : it;
}

Result<std::vector<ParallelSpec>> read_layout_values(const LayoutKey& key, const std::vector<std::string>& texts) {
  static const Schema<ParallelSpec> schema = workload::parallel_schema();
  const std::string where = "--vary parallel." + std::string(key.name);
  std::vector<ParallelSpec> out;
  for (const std::string& text : texts) {
    ConfigNode section;
    section.kind = ConfigNode::Kind::map;
    TRY(set_config_path(section, key.name, text, where));
    TRY_ASSIGN(ParallelSpec values, schema.read(section, "parallel"));
    out.push_back(std::move(values));
  }
  return out;
}

bool agrees_with(const HeldValues& held, const ParallelSpec& layout) {
  return std::ranges::all_of(held, [&](const auto& entry) {
    const LayoutKey* key = find_layout_key(entry.first);
    return std::ranges::any_of(entry.second, [&](const ParallelSpec& v) { return key->text(v) == key->text(layout); });
  });
}

bool same_layout(const ParallelSpec& a, const ParallelSpec& b) {
  return std::ranges::all_of(kLayoutKeys, [&](const LayoutKey& key) { return key.text(a) == key.text(b); });
}

}  // namespace distsim::study
