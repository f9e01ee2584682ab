#include "traces/hugectr/hugectr_schedule.hpp"

#include <map>
#include <set>

#include "base/config/config_node.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"

namespace distsim::traces {
namespace {

const std::vector<std::string> kKeys{"forward_events", "backward_events"};

Result<void> check_name(const std::string& what, const std::string& name, const SourcePos& where) {
  const bool seen = name.find(' ') == std::string::npos && printable(name, std::string::npos) == name;
  if (!name.empty() && seen) return {};
  return Error{what + ": found " + in_quotes(name) + ", expected a name without spaces and hidden characters",
               where.text(), ""};
}

/// An event is between two labels, "fprop.start" and "fprop.stop", and its name is what they share.
Result<void> check_event(const std::string& what, const std::string& name, const SourcePos& where) {
  TRY(check_name(what, name, where));
  const std::size_t dot = name.rfind('.');
  const std::string end = dot == std::string::npos ? "" : name.substr(dot);
  if (end != ".start" && end != ".stop") return {};
  return Error{what + ": found the label " + in_quotes(name) + ", expected the name of an event, " +
                   in_quotes(name.substr(0, dot)),
               where.text(), ""};
}

Result<std::vector<std::string>> names_of(const ConfigNode& list, const std::string& key) {
  if (list.kind != ConfigNode::Kind::sequence)
    return Error{key + ": found " + list.describe() + ", expected a list of event names", list.where.text(), ""};
  std::vector<std::string> out;
  for (const ConfigNode& item : list.items) {
    if (item.kind != ConfigNode::Kind::scalar)
      return Error{key + ": found " + item.describe() + ", expected an event name", item.where.text(), ""};
    TRY(check_event(key, item.scalar, item.where));
    out.push_back(item.scalar);
  }
  return out;
}

struct Layer {
  std::string name;
  std::vector<std::string> forward, backward;
};

Result<Layer> layer_of(const ConfigNode::Entry& entry) {
  TRY(check_name("layer", entry.key, entry.where));
  if (entry.value.kind != ConfigNode::Kind::map) {
    return Error{
        entry.key + ": found " + entry.value.describe() + ", expected a map with forward_events and backward_events",
        entry.value.where.text(), ""};
  }
  Layer layer{entry.key, {}, {}};
  for (const auto& e : entry.value.entries) {
    if (e.key != kKeys[0] && e.key != kKeys[1]) {
      return Error{entry.key + ": found the key " + in_quotes(e.key) + ", expected forward_events or backward_events",
                   e.where.text(), spelling_hint(e.key, kKeys)};
    }
    TRY_ASSIGN((e.key == kKeys[0] ? layer.forward : layer.backward), names_of(e.value, entry.key + "." + e.key));
  }
  return layer;
}

}  // namespace

Result<std::vector<HugectrEvent>> read_hugectr_events(const std::string& path) {
  TRY_ASSIGN(const ConfigNode root, parse_yaml_file(path));
  if (root.kind != ConfigNode::Kind::map)
    return Error{"found " + root.describe() + ", expected a map of layers", root.where.text(), ""};
  std::vector<Layer> layers;
  for (const auto& entry : root.entries) {
    TRY_ASSIGN(Layer layer, layer_of(entry));
    layers.push_back(std::move(layer));
  }
  std::vector<HugectrEvent> out;
  std::map<std::string, std::uint32_t> forward, backward;
  for (const Layer& l : layers) {
    for (const std::string& name : l.forward) out.push_back({l.name, name, forward[name]++});
  }
  for (auto l = layers.rbegin(); l != layers.rend(); ++l) {
    for (const std::string& name : l->backward) out.push_back({l->name, name, backward[name]++});
  }
  if (out.empty()) return Error{"found no event, expected at least one", path, ""};
  return out;
}

std::string hugectr_schedule_text(const std::vector<HugectrEvent>& events, std::uint32_t warmup, std::uint32_t repeat) {
  std::string out = std::to_string(warmup);
  std::uint64_t iteration = warmup;
  for (const HugectrEvent& e : events) {
    for (std::uint32_t i = 0; i < repeat; ++i) {
      out += "\n" + e.name + " " + std::to_string(++iteration) + " " + e.layer + " " + std::to_string(e.order);
    }
  }
  return out;
}

std::string hugectr_events_text(const std::vector<HugectrEvent>& events) {
  std::set<std::string> seen;
  std::string out;
  for (const HugectrEvent& e : events) {
    if (seen.insert(e.name).second) out += e.name + "\n";
  }
  return out;
}

}  // namespace distsim::traces
