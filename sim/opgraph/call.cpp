#include "sim/opgraph/call.hpp"

#include <algorithm>
#include <cmath>

namespace distsim::opgraph {

double product(const Dims& dims) {
  double n = 1;
  for (const std::int64_t d : dims) n *= static_cast<double>(d);
  return n;
}

std::optional<Dims> broadcast_of(const std::vector<Dims>& all) {
  Dims out;
  for (const Dims& dims : all) {
    if (dims.size() > out.size()) out.insert(out.begin(), dims.size() - out.size(), 1);
    for (std::size_t i = 1; i <= dims.size(); ++i) {
      std::int64_t& size = out[out.size() - i];
      const std::int64_t own = dims[dims.size() - i];
      if (size != own && size != 1 && own != 1) return std::nullopt;
      size = size == 1 ? own : size;
    }
  }
  return out;
}

std::string text_of(const Dims& dims) {
  std::string out;
  for (const std::int64_t d : dims) out += (out.empty() ? "" : "x") + std::to_string(d);
  return out.empty() ? "a scalar" : out;
}

std::int64_t count(double n) {
  constexpr double kMost = 1e17;
  return n >= 1 ? static_cast<std::int64_t>(std::min(n, kMost)) : 1;
}

Sizes::Sizes(const OpGraph& graph, std::int64_t samples) : graph_(graph), samples_(samples) {
  elements_.reserve(graph.tensors.size());
  types_.reserve(graph.tensors.size());
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t) {
    double elements = 1;
    for (const Extent& e : graph.tensors[t].dims)
      elements *= static_cast<double>(std::max<std::int64_t>(0, e.constant + e.per_sample * samples));
    elements_.push_back(elements);
    types_.push_back(graph.tensors[t].element);
  }
}

Dims Sizes::dims(std::uint32_t tensor) const {
  Dims out;
  for (const Extent& e : graph_.tensors[tensor].dims)
    out.push_back(std::max<std::int64_t>(0, e.constant + e.per_sample * samples_));
  return out;
}

Call::Call(const Sizes& sizes, const Node& node) : sizes_(sizes), node_(node) {
  for (const Argument& a : node.inputs) inputs_.insert(inputs_.end(), a.tensors.begin(), a.tensors.end());
}

std::optional<std::uint32_t> Call::tensor_at(std::size_t place) const {
  if (place >= node_.inputs.size() || node_.inputs[place].tensors.size() != 1) return std::nullopt;
  return node_.inputs[place].tensors.front();
}

std::vector<std::int64_t> Call::list_at(std::size_t place) const {
  std::vector<std::int64_t> out;
  if (place >= node_.inputs.size()) return out;
  for (const double n : node_.inputs[place].numbers) {
    if (!(std::abs(n) < 1e12)) return {};
    out.push_back(static_cast<std::int64_t>(n));
  }
  return out;
}

double Call::number_at(std::size_t place, double otherwise) const {
  if (place >= node_.inputs.size() || node_.inputs[place].kind != Argument::Kind::number) return otherwise;
  return node_.inputs[place].numbers.front();
}

double Call::read_bytes() const {
  double sum = 0;
  for (const std::uint32_t t : inputs_) sum += sizes_.bytes(t);
  return sum;
}

double Call::written_bytes() const {
  double sum = 0;
  for (const std::uint32_t t : node_.outputs) sum += sizes_.bytes(t);
  return node_.outputs.empty() && !inputs_.empty() ? sizes_.bytes(inputs_.front()) : sum;
}

std::uint32_t Call::largest() const {
  std::uint32_t best = inputs_.empty() ? node_.outputs.front() : inputs_.front();
  const auto look = [&](std::uint32_t t) {
    if (sizes_.bytes(t) > sizes_.bytes(best)) best = t;
  };
  std::ranges::for_each(inputs_, look);
  std::ranges::for_each(node_.outputs, look);
  return best;
}

bool Call::on_host() const {
  const auto host = [&](std::uint32_t t) { return sizes_.graph().tensors[t].on_host; };
  return std::ranges::all_of(inputs_, host) && std::ranges::all_of(node_.outputs, host);
}

}  // namespace distsim::opgraph
