#include "sim/chakra/communication_cost.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>

namespace distsim::chakra {
namespace {

class ClusterCommunication : public CommunicationCost {
 public:
  ClusterCommunication(topology::Topology topology, collectives::CollectiveModels models)
      : topology_(std::move(topology)), models_(std::move(models)) {}

  Result<graph::Cost> collective(const graph::Collective& op, std::span<const std::uint32_t> members,
                                 bool alone) override {
    return models_.price(op, topology_.facts(members, alone ? topology::Siblings::idle : topology::Siblings::active));
  }

  Result<graph::Cost> message(std::uint32_t from, std::uint32_t to, std::int64_t bytes) override {
    const auto key = std::tuple(from, to, bytes);
    if (const auto known = messages_.find(key); known != messages_.end()) return known->second;
    const std::uint32_t pair[] = {std::min(from, to), std::max(from, to)};
    const std::span<const std::uint32_t> members(pair, from == to ? 1 : 2);
    TRY_ASSIGN(
        const graph::Cost cost,
        models_.price({graph::CollectiveKind::send_recv, bytes, graph::DType::int8, {}, {}}, topology_.facts(members)));
    return messages_.emplace(key, cost).first->second;
  }

  std::uint32_t ranks() const override { return topology_.ranks(); }
  std::string where() const override {
    const topology::ClusterSpec& spec = topology_.spec();
    return fmt::format("on {} x {} {} ({})", spec.nodes, spec.gpus_per_node, spec.device, spec.name);
  }

 private:
  topology::Topology topology_;
  collectives::CollectiveModels models_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, graph::Cost> messages_;
};

}  // namespace

std::unique_ptr<CommunicationCost> cluster_communication(topology::Topology topology,
                                                         collectives::CollectiveModels models) {
  return std::make_unique<ClusterCommunication>(std::move(topology), std::move(models));
}

}  // namespace distsim::chakra
