#include "sim/opgraph/recorded/recorded_calls.hpp"

#include <algorithm>

#include "base/text/printable.hpp"
#include "sim/opgraph/kernels.hpp"
#include "sim/opgraph/readers.hpp"
#include "sim/opgraph/recorded/recorded_fields.hpp"

namespace distsim::opgraph {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kMostGroups = 10'000;

bool is_structure(const Recorded& n) { return n.name.starts_with("[pytorch|"); }

class CallReader {
 public:
  CallReader(const dom::object& document, const std::string& file) : document_(document), file_(file) {}

  Result<RecordedCalls> read() {
    TRY(collect());
    find_callers();
    choose_iteration();
    return std::move(calls_);
  }

 private:
  Result<void> collect() {
    dom::array list;
    if (missing(document_["nodes"].get_array().get(list))) return Error{"nodes: missing, expected a list", file_, ""};
    for (const dom::element e : list) {
      if (calls_.nodes.size() >= kMostNodes)
        return Error{"nodes: found more than 2,000,000, expected fewer", file_, ""};
      Recorded n;
      std::string_view name;
      const bool named = e.is_object() && !missing(e["name"].get_string().get(name)) && integer_at(e, "id", n.id);
      if (!named) {
        ++calls_.broken;
        continue;
      }
      n.name = printable(name, 200);
      std::uint64_t parent = 0;
      if (integer_at(e, "ctrl_deps", parent) || integer_at(e, "parent", parent)) n.parent = parent;
      n.json = e;
      if (n.name.find("process_group:init") != std::string::npos) read_groups(e);
      calls_.nodes.push_back(std::move(n));
    }
    std::ranges::stable_sort(calls_.nodes, {}, &Recorded::id);
    const auto twice = std::ranges::adjacent_find(calls_.nodes, {}, &Recorded::id);
    if (twice != calls_.nodes.end())
      return wrong_call(file_, *twice,
                        "found twice, the other time as " + in_quotes(std::next(twice)->name) +
                            ", expected each node once; are these two traces in one file?");
    return {};
  }

  void read_groups(const dom::element& node) {
    const Lists in = lists_of(node, "inputs");
    std::string_view text;
    dom::parser parser;
    dom::array listed;
    if (!in.complete || in.values.size() == 0 || missing(in.values.at(0).get_string().get(text))) return;
    const simdjson::padded_string padded(text);
    if (missing(parser.parse(padded).get_array().get(listed))) return;
    for (const dom::element g : listed) {
      std::string_view name;
      if (!g.is_object() || missing(g["pg_name"].get_string().get(name)) || calls_.groups.size() > kMostGroups)
        continue;
      RecordedGroup group;
      std::int64_t size = 0;
      if (!missing(g["group_size"].get_int64().get(size)) && size > 0 && size <= (1 << 20))
        group.size = static_cast<std::uint32_t>(size);
      dom::array ranks;
      if (!missing(g["ranks"].get_array().get(ranks))) {
        for (const dom::element r : ranks) {
          std::int64_t rank = 0;
          if (!missing(r.get_int64().get(rank)) && rank >= 0 && rank < (1 << 20))
            group.ranks.push_back(static_cast<std::uint32_t>(rank));
        }
      }
      calls_.groups[std::string(name)] = std::move(group);
    }
  }

  /// A caller began before what it calls, so that there are no cycles.
  void find_callers() {
    std::unordered_map<std::uint64_t, std::uint32_t> places;
    for (std::uint32_t i = 0; i < calls_.nodes.size(); ++i) {
      const std::optional<std::uint64_t> parent = calls_.nodes[i].parent;
      const auto caller = parent ? places.find(*parent) : places.end();
      const bool root = is_structure(calls_.nodes[i]);
      if (!root && caller != places.end() && !is_structure(calls_.nodes[caller->second])) {
        calls_.nodes[i].caller = caller->second;
        calls_.nodes[caller->second].inside.push_back(i);
      } else if (!root) {
        calls_.top.push_back(i);
        // Node 1 is the process, which some schemas do not list.
        calls_.lost += caller == places.end() && parent.value_or(0) > 1 ? 1 : 0;
      }
      places.emplace(calls_.nodes[i].id, i);
    }
    for (std::size_t i = calls_.nodes.size(); i-- > 0;) {
      Recorded& n = calls_.nodes[i];
      n.has_kernels = n.has_kernels || listing_of(n.name) == Listing::kernels || n.is_collective() || n.is_triton() ||
                      n.has_stated_work();
      if (n.has_kernels && n.caller != kNoCaller) calls_.nodes[n.caller].has_kernels = true;
    }
  }

  std::uint32_t end_of(std::uint32_t place) const {
    while (!calls_.nodes[place].inside.empty()) place = calls_.nodes[place].inside.back();
    return place + 1;
  }

  /// Of several profiled steps the one with the most nodes, the last of those; without steps, what lies between the ends
  /// of optimizer steps.
  void choose_iteration() {
    std::vector<std::uint32_t> begins;
    for (std::uint32_t i = 0; i < calls_.nodes.size(); ++i) {
      if (calls_.nodes[i].is_step()) begins.push_back(i);
    }
    const bool marked = !begins.empty();
    if (!marked) {
      begins.push_back(0);
      for (std::uint32_t i = 0; i < calls_.nodes.size(); ++i) {
        if (calls_.nodes[i].is_optimizer()) begins.push_back(end_of(i));
      }
      if (begins.size() > 2 || (begins.size() == 2 && !work_after(begins.back()))) begins.pop_back();
      if (begins.size() == 2) begins.pop_back();
    }
    begins.push_back(static_cast<std::uint32_t>(calls_.nodes.size()));
    for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
      if (begins[i + 1] - begins[i] >= calls_.last - calls_.first)
        calls_.first = begins[i], calls_.last = begins[i + 1];
    }
    if (begins.size() > 2) {
      const std::string which = marked ? calls_.nodes[calls_.first].name
                                       : "that of nodes " + std::to_string(calls_.nodes[calls_.first].id) + " on";
      calls_.choice = "of " + std::to_string(begins.size() - 1) + " recorded iterations, " + which + " is used";
    }
  }

  bool work_after(std::uint32_t place) const {
    return std::any_of(calls_.nodes.begin() + place, calls_.nodes.end(),
                       [](const Recorded& n) { return n.has_kernels; });
  }

  const dom::object& document_;
  const std::string& file_;
  RecordedCalls calls_;
};

}  // namespace

bool Recorded::has_stated_work() const {
  const bool stated = number_of(attribute(json, "num_ops"), 0) > 0 || number_of(attribute(json, "tensor_size"), 0) > 0;
  return stated && inside.empty() && lists_of(json, "inputs").values.size() == 0;
}

Error wrong_call(const std::string& file, const Recorded& n, const std::string& what) {
  return node_error(file, "node " + std::to_string(n.id) + " (" + n.name + ")", what);
}

Result<RecordedCalls> read_recorded_calls(const dom::object& document, const std::string& file) {
  return CallReader(document, file).read();
}

}  // namespace distsim::opgraph
