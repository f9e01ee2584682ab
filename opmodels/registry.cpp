#include "opmodels/registry.hpp"

#include <array>
#include <utility>

namespace distsim::opmodels {
namespace {

constexpr auto kKinds = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array{std::variant_alternative_t<I, graph::Op>::kKind...};
}
(std::make_index_sequence<graph::kOpKinds>());

constexpr bool unique(std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (names[i] == names[j]) return false;
    }
  }
  return true;
}
static_assert(unique(kKinds), "two ops have one name");

using Entries = std::array<OpModelEntry, graph::kOpKinds>;

template <class Shape>
OpModelEntry entry_of() {
  OpModelEntry entry = op_model(Of<Shape>());
  CHECK(entry.price != nullptr && std::holds_alternative<Shape>(entry.example)) << Shape::kKind;
  entry.kind = Shape::kKind;
  return entry;
}

Entries make_entries() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return Entries{entry_of<std::variant_alternative_t<I, graph::Op>>()...};
  }
  (std::make_index_sequence<graph::kOpKinds>());
}

}  // namespace

std::span<const OpModelEntry> op_model_entries() {
  static const Entries entries = make_entries();
  return entries;
}

std::optional<KernelSample> sample_of(const DeviceRates& device, const graph::Op& op) {
  const OpModelEntry& entry = op_model_entries()[op.index()];
  return entry.sample == nullptr ? std::nullopt : entry.sample(device, op);
}

std::span<const OpModelInfo> op_model_registry() {
  static const auto infos = [] {
    std::array<OpModelInfo, graph::kOpKinds> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = {op_model_entries()[i].kind, op_model_entries()[i].sentence};
    return all;
  }();
  return infos;
}

}  // namespace distsim::opmodels
