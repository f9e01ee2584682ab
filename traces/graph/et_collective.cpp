#include "traces/graph/et_collective.hpp"

#include <algorithm>

#include "traces/build/collective_text.hpp"
#include "traces/build/op_inputs.hpp"
#include "traces/files/json_memory.hpp"
#include "traces/files/json_values.hpp"

namespace distsim::traces {
namespace {

namespace dom = simdjson::dom;

bool values_of(const dom::element& node, dom::array& values) {
  dom::element inputs;
  if (node["inputs"].get(inputs)) return false;
  if (inputs.is_object()) return !inputs["values"].get_array().get(values);
  return !inputs.get_array().get(values);
}

bool to_integer(const dom::element& value, std::int64_t& out) {
  std::string_view text;
  if (!value.get_int64().get(out)) return true;
  return !value.get_string().get(text) && integer_of(text, out);
}

/// What the values of 1.0.x say: [tensors, seq, group, rank, "allreduce", [in split], [out split], (start, stride,)
/// size]; group is a number or <name, description>.
struct Positional {
  std::string name, group, description;
  std::int64_t size = 0;
};

Positional positional(const dom::element& node) {
  Positional p;
  dom::array values;
  if (!values_of(node, values)) return p;
  for (const dom::element v : values) {
    std::string_view text;
    dom::array pair;
    if (p.name.empty() && !v.get_string().get(text)) {
      p.name = text;
    } else if (p.name.empty() && !v.get_array().get(pair) && pair.size() == 2 && pair.at(0).is_string() &&
               pair.at(1).is_string()) {
      p.group = std::string(pair.at(0).get_string().value_unsafe());
      p.description = std::string(pair.at(1).get_string().value_unsafe());
    } else if (!p.name.empty()) {
      std::int64_t n = 0;
      if (!v.get_int64().get(n)) p.size = n;  // the last number is the size
    }
  }
  return p;
}

bool only_management(std::string_view name) {
  return name.empty() || name == "wait" || name == "init" || name == "start" || name == "end" ||
         name.starts_with("end_");
}

}  // namespace

EtAttributes::EtAttributes(const dom::element& node) : node_(node) { nested_ = !node["attrs"].get_array().get(attrs_); }

bool EtAttributes::find(std::string_view name, dom::element& value) const {
  if (!nested_) return !node_[name].get(value);
  for (const dom::element a : attrs_) {
    std::string_view key;
    if (!a["name"].get_string().get(key) && key == name) return !a["value"].get(value);
  }
  return false;
}

std::uint64_t EtAttributes::number(std::string_view name) const {
  dom::element value;
  std::uint64_t u = 0;
  if (find(name, value) && !value.get_uint64().get(u)) return u;
  return static_cast<std::uint64_t>(number(name, 0));
}

std::int64_t EtAttributes::number(std::string_view name, std::int64_t absent) const {
  dom::element value;
  std::int64_t i = 0;
  return find(name, value) && to_integer(value, i) ? i : absent;
}

std::string EtAttributes::text(std::string_view name) const {
  dom::element value;
  std::string_view text;
  if (!find(name, value)) return "";
  return value.get_string().get(text) ? std::string(simdjson::minify(value)) : std::string(text);
}

std::optional<TraceCollective> et_collective(TraceJob& job, const dom::element& node, const EtAttributes& a,
                                             const OpInputs& inputs) {
  Positional p = positional(node);
  const std::string stated = a.text("collective_name");
  const std::string& name = stated.empty() ? p.name : stated;
  if (only_management(name)) return std::nullopt;
  const std::string dtype = a.text("dtype"), in_split = a.text("in_split_size"), out_split = a.text("out_split_size");
  const std::string group = stated.empty() ? p.group : a.text("pg_name"),
                    description = stated.empty() ? p.description : a.text("pg_desc");
  CollectiveArgs args;
  args.name = name;
  args.dtype = dtype;
  args.in_split = in_split;
  args.out_split = out_split;
  args.group_name = group;
  args.group_description = description;
  args.in_elements = a.number("in_msg_nelems", -1);
  args.out_elements = a.number("out_msg_nelems", -1);
  args.group_size = a.number("pg_size", p.size);
  args.rank_start = a.number("global_rank_start", -1);
  args.rank_stride = a.number("global_rank_stride", 0);
  TraceCollective c = make_collective(job, args);
  std::int64_t elements = 0;
  if (c.in_elements < 0 && total_elements(inputs.tensors, std::nullopt, elements, c.dtype))
    c.in_elements = elements, c.dtype_known = true;
  if (c.out_elements < 0 && total_elements(inputs.outputs, std::nullopt, elements, c.dtype))
    c.out_elements = elements, c.dtype_known = true;
  return c;
}

void read_process_groups(const dom::element& node, std::vector<TraceGroup>& groups) {
  dom::array values, listed;
  if (!values_of(node, values) || values.size() == 0) return;
  std::string_view text;
  dom::parser parser;
  if (values.at(0).get_string().get(text) || failed(parser.parse(text.data(), text.size()).get_array().get(listed)))
    return;
  for (const dom::element item : listed) {
    TraceGroup g;
    std::string_view name, description;
    if (!item["pg_name"].get_string().get(name)) g.name = name;
    if (!item["pg_desc"].get_string().get(description)) g.description = description;
    std::int64_t size = 0;
    if (!item["group_size"].get_int64().get(size) && size > 0 && size <= INT32_MAX)
      g.size = static_cast<std::uint32_t>(size);
    dom::array ranks;
    if (!item["ranks"].get_array().get(ranks)) {
      for (const dom::element r : ranks) {
        std::int64_t n = 0;
        if (to_integer(r, n) && n >= 0 && n <= INT32_MAX) g.ranks.push_back(static_cast<std::uint32_t>(n));
      }
    }
    if (!g.name.empty()) groups.push_back(std::move(g));
  }
}

}  // namespace distsim::traces
