#include "sim/study/plan/layouts/layout_offer.hpp"

#include <algorithm>
#include <utility>

#include "base/config/schema.hpp"
#include "sim/config/config_folders.hpp"

namespace distsim::study {
namespace {

using workload::ContextExchange;
using workload::RankOrder;
using workload::RecomputeKind;
using workload::StateSplit;

constexpr const char* kUnlisted = "plain";

/// A kind of the file as it is written.
struct OfferText {
  std::vector<std::string> splits, context_exchange, order, shard, recompute;
  bool shard_group = false;
};

const Schema<OfferText>& offer_schema() {
  static const Schema<OfferText> schema = [] {
    Schema<OfferText> s("kind", "What a framework can be told to do.");
    s.scalars("splits", &OfferText::splits, {}, "What may be above 1, or on.");
    s.scalars("context_exchange", &OfferText::context_exchange, {}, "How a split sequence is exchanged.");
    s.scalars("order", &OfferText::order, {}, "Orders of the ranks; none: as the experiment says.");
    s.scalars("shard", &OfferText::shard, {}, "Levels of sharded data parallel.");
    s.scalars("recompute", &OfferText::recompute, {}, "Activations that can be computed again.");
    s.optional("shard_group", &OfferText::shard_group, "Shards in groups smaller than all replicas.");
    return s;
  }();
  return schema;
}

template <class Value>
using WordValues = std::vector<std::pair<std::string, Value>>;

/// The value that each word of a list means.
template <class Value>
Result<std::vector<Value>> values_of_words(const std::vector<std::string>& words, const WordValues<Value>& known,
                                           const std::string& key, const SourcePos& where) {
  std::vector<Value> out;
  std::vector<std::string> names;
  for (const auto& [name, value] : known) names.push_back(name);
  for (const std::string& word : words) {
    const auto it = std::ranges::find(known, word, &std::pair<std::string, Value>::first);
    if (it == known.end())
      return Error{key + ": found '" + word + "', expected words of its list", where.text(),
                   spelling_hint(word, names)};
    out.push_back(it->second);
  }
  return out;
}

Result<void> read_splits(const OfferText& text, const SourcePos& where, OfferedSplits& out) {
  static const WordValues<bool OfferedSplits::*> known{{"tensor", &OfferedSplits::tensor},
                                                       {"sequence_parallel", &OfferedSplits::sequence_parallel},
                                                       {"context", &OfferedSplits::context},
                                                       {"pipeline", &OfferedSplits::pipeline},
                                                       {"virtual_stages", &OfferedSplits::virtual_stages},
                                                       {"stage_layers", &OfferedSplits::stage_layers},
                                                       {"expert", &OfferedSplits::expert},
                                                       {"expert_tensor", &OfferedSplits::expert_tensor}};
  TRY_ASSIGN(const auto members, values_of_words(text.splits, known, "splits", where));
  for (bool OfferedSplits::*member : members) out.*member = true;
  return {};
}

Result<void> read_recompute(const OfferText& text, const SourcePos& where, LayoutOffer& out) {
  // `layers` is full recomputation of some blocks
  static const WordValues<RecomputeKind> known{{"none", RecomputeKind::none},
                                               {"full", RecomputeKind::full},
                                               {"layers", RecomputeKind::automatic},
                                               {"selective", RecomputeKind::core_attention},
                                               {"per_operator", RecomputeKind::per_operator},
                                               {"every_second", RecomputeKind::every_second}};
  TRY_ASSIGN(out.recompute, values_of_words(text.recompute, known, "recompute", where));
  out.some_layers = std::erase(out.recompute, RecomputeKind::automatic) > 0;
  return {};
}

Result<LayoutOffer> read_offer(const ConfigNode& node) {
  static const WordValues<ContextExchange> exchanges{{"ring", ContextExchange::ring},
                                                     {"all_gather", ContextExchange::all_gather},
                                                     {"ulysses", ContextExchange::ulysses}};
  static const WordValues<RankOrder> orders{{"tp-cp-ep-dp-pp", RankOrder::tp_cp_ep_dp_pp},
                                            {"tp-cp-ep-pp-dp", RankOrder::tp_cp_ep_pp_dp}};
  static const WordValues<StateSplit> shards{{"none", StateSplit::none},
                                             {"optimizer", StateSplit::optimizer},
                                             {"gradients", StateSplit::gradients},
                                             {"weights", StateSplit::weights}};
  TRY_ASSIGN(const OfferText text, offer_schema().read(node));
  LayoutOffer out;
  out.shard_group = text.shard_group;
  TRY(read_splits(text, node.where, out.splits));
  TRY(read_recompute(text, node.where, out));
  TRY_ASSIGN(out.order, values_of_words(text.order, orders, "order", node.where));
  TRY_ASSIGN(out.context_exchange, values_of_words(text.context_exchange, exchanges, "context_exchange", node.where));
  TRY_ASSIGN(out.shard, values_of_words(text.shard, shards, "shard", node.where));
  return out;
}

}  // namespace

Result<LayoutOffer> layout_offer_of(const std::string& framework) {
  const std::string path = config::config_file("planning", "layouts.yaml");
  if (path.empty()) return Error{"layouts.yaml: missing, expected a file in configs/planning", "", ""};
  TRY_ASSIGN(const ConfigNode root, parse_yaml_file(path));
  const ConfigNode* kinds = root.find("kinds");
  const ConfigNode* frameworks = root.find("frameworks");
  if (kinds == nullptr || frameworks == nullptr)
    return Error{"layouts.yaml: found no kinds or no frameworks, expected both", path, ""};
  const ConfigNode* named = frameworks->find(framework);
  const std::string kind = named != nullptr ? named->scalar : kUnlisted;
  const ConfigNode* offer = kinds->find(kind);
  if (offer == nullptr)
    return Error{"frameworks." + framework + ": found " + kind + ", expected a kind of the file",
                 named != nullptr ? named->where.text() : path, ""};
  return read_offer(*offer);
}

}  // namespace distsim::study
