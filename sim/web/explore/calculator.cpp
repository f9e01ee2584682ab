// One collective, one op: their cost over a range of sizes, with what was measured of the same.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "base/text/csv.hpp"
#include "base/text/printable.hpp"
#include "collectives/collective_models.hpp"
#include "collectives/curves/curve_library.hpp"
#include "opmodels/csv/cost_csv.hpp"
#include "opmodels/measured/measured_table.hpp"
#include "opmodels/measured/op_point.hpp"
#include "opmodels/registry.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/pipeline/device_models.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/web/answers/answers.hpp"
#include "sim/web/messages/body.hpp"

namespace distsim::web {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr int kPointsPerOctave = 2;
constexpr std::size_t kMostCurves = 12, kMostPricedSizes = 400, kMostMeasured = 2'000, kMostSizes = 32;

/// What a collective is priced on.
struct Place {
  topology::ClusterSpec cluster;
  topology::DeviceSpec device;
  collectives::CollectiveOptions options;
};

/// A name of `distsim list`, no path: that could lead anywhere.
Result<std::string> name_in(const Json& body, const char* key) {
  TRY_ASSIGN(std::string name, string_in(body, key));
  if (name.empty() || name.find('/') != std::string::npos || name.ends_with(".yaml") || name.ends_with(".yml"))
    return unexpected(key, "a name");
  return name;
}

Result<Place> place_of_system(const std::string& name) {
  Place out;
  TRY_ASSIGN(out.cluster, config::load_system(name));
  TRY_ASSIGN(out.device, config::load_device(out.cluster.device));
  out.options.curve_dirs = config::curve_folders();
  out.options.constants = config::changed_constants();
  return out;
}

/// Sizes from `from` to `to`, evenly on a logarithmic scale, and those of `also` between them.
std::vector<std::int64_t> sizes_between(std::int64_t from, std::int64_t to, std::vector<std::int64_t> also) {
  std::erase_if(also, [&](std::int64_t v) { return v < from || v > to; });
  const double octaves = std::log2(static_cast<double>(to) / static_cast<double>(from));
  const int steps = std::clamp(static_cast<int>(std::ceil(octaves * kPointsPerOctave)), 1, 200);
  for (int i = 0; i <= steps; ++i) {
    const double size = static_cast<double>(from) * std::exp2(octaves * i / steps);
    also.push_back(std::clamp(std::llround(size), static_cast<long long>(from), static_cast<long long>(to)));
  }
  std::ranges::sort(also);
  also.erase(std::unique(also.begin(), also.end()), also.end());
  while (also.size() > kMostPricedSizes) {  // more were measured than a picture can show
    std::vector<std::int64_t> fewer;
    for (std::size_t i = 0; i < also.size(); i += 2) fewer.push_back(also[i]);
    if (fewer.back() != also.back()) fewer.push_back(also.back());
    also = std::move(fewer);
  }
  return also;
}

Json cost_json(double size, const graph::Cost& cost) {
  return {size,
          cost.mean.us(),
          cost.low.us(),
          cost.high.us(),
          std::string(graph::name_of(cost.basis)),
          std::string(cost.source)};
}

const char* origin_word(collectives::Origin origin) {
  switch (origin) {
    case collectives::Origin::user:
      return "named by the experiment";
    case collectives::Origin::own_system:
      return "of this system";
    case collectives::Origin::sibling_system:
      return "of a sibling system";
    case collectives::Origin::same_network:
      return "of the same network";
  }
  return "";
}

/// Curves of the same kind over a group of the same size.
Json measured_json(const std::vector<collectives::LibraryCurve>& curves, graph::CollectiveKind kind,
                   const topology::GroupFacts& facts, std::vector<std::int64_t>& sizes) {
  Json out = Json::array();
  for (const collectives::LibraryCurve& c : curves) {
    if (c.curve.kind != kind || c.facts.ranks != facts.ranks || c.facts.nodes != facts.nodes ||
        !c.curve.not_used.empty() || out.size() == kMostCurves)
      continue;
    Json points = Json::array();
    for (const collectives::CurvePoint& p : c.curve.points) {
      points.push_back({p.bytes, p.time_us, p.low_us, p.high_us});
      if (p.bytes >= 1 && p.bytes < 9e15) sizes.push_back(static_cast<std::int64_t>(p.bytes));
    }
    out.push_back({{"source", c.source},
                   {"label", c.curve.label},
                   {"origin", origin_word(c.origin)},
                   {"library", c.curve.library},
                   {"device", c.device},
                   {"timed_by", c.curve.timed_by == collectives::TimedBy::pytorch ? "pytorch" : "nccl_tests"},
                   {"points", std::move(points)}});
  }
  return out;
}

/// "m=4096" of {"m": "4096"}, as a shapes file of one row.
struct AskedOp {
  std::vector<std::string> header{"gpu", "op", "pass", "dtype"}, row;

  Result<void> add(const std::string& name, const std::string& value, const std::vector<std::string>& known) {
    if (std::ranges::find(known, name) == known.end())
      return Error{"sizes: found " + in_quotes(name) + ", expected one of the op's sizes", "message", ""};
    header.push_back(name);
    row.push_back(value);
    return {};
  }
};

Result<opmodels::OpRow> op_of(const AskedOp& asked, const std::string& varied = "", const std::string& value = "") {
  std::vector<std::string> header = asked.header, row = asked.row;
  if (!varied.empty()) {
    const auto at = std::ranges::find(header, varied);
    if (at == header.end()) {
      header.push_back(varied);
      row.push_back(value);
    } else {
      row[static_cast<std::size_t>(at - header.begin())] = value;
    }
  }
  std::istringstream in(csv_line(header) + csv_line(row));
  TRY_ASSIGN(CsvReader reader, CsvReader::open(in, "the op"));
  TRY_ASSIGN(const opmodels::OpColumns columns, opmodels::OpColumns::of_one_op(reader));
  TRY_ASSIGN(const auto fields, reader.next());
  return opmodels::op_from_row(columns, *fields);
}

double useful_flops(const opmodels::OpRow& row) {
  double sum = 0;
  for (const graph::Op& op : row.ops) sum += graph::flops_of(op);
  return sum;
}

/// Measured points that differ from the op in the varied size alone.
Json measured_along(const opmodels::OpModels& models, const AskedOp& asked, const std::string& varied, double from,
                    double to, std::vector<std::int64_t>& sizes) {
  Json out = Json::array();
  const auto& table = models.measured();
  if (table == nullptr) return out;
  const auto point_at = [&](double value) -> std::optional<opmodels::OpPoint> {
    const auto row = op_of(asked, varied, fmt::format("{:.0f}", value));
    return row.ok() && row->ops.size() == 1 ? opmodels::point_of(row->ops.front()) : std::nullopt;
  };
  const auto first = point_at(std::max(1.0, from)), last = point_at(to);
  if (!first || !last || first->group != last->group) return out;
  for (const opmodels::MeasuredPoint& p : table->points()) {
    if (p.point.group != first->group || out.size() == kMostMeasured) continue;
    double value = 0;
    for (std::size_t d = 0; d < opmodels::OpPoint::kDims; ++d) {
      if (first->at[d] != last->at[d]) value = std::round(std::exp2(double(p.point.at[d])));
    }
    if (value < from || value > to) continue;
    const auto there = point_at(value);
    if (!there || !(*there == p.point)) continue;
    out.push_back({value, p.measured_us});
    sizes.push_back(static_cast<std::int64_t>(value));
  }
  return out;
}

Json field_json(const graph::Field& field, double value) {
  return {{"name", std::string(field.column)}, {"value", value}, {"part", field.role == graph::Role::part}};
}

/// The sizes of a typical op of a kind, by their columns (opmodels/csv/op_row.hpp).
Json sizes_json(const graph::Op& example) {
  Json out = Json::array();
  const auto add = [&](const graph::Field& field, const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    const bool is_size = field.role != graph::Role::note;  // or a number that says how it is done: a stride
    if constexpr (std::is_same_v<Value, std::int64_t> || std::is_same_v<Value, double>) {
      if (is_size && !field.added) out.push_back(field_json(field, static_cast<double>(value)));
    }
  };
  std::visit([&](const auto& shape) { graph::for_each_field(add, shape); }, example);
  if (std::holds_alternative<graph::EmbeddingBag>(
          example)) {  // its tables are a list; a row has one of them, or equal ones
    for (const auto& [name, value] : {std::pair("tables", 1.0), {"rows", 1e6}, {"dim", 128.0}, {"pooling", 1.0}})
      out.push_back({{"name", name}, {"value", value}, {"part", false}});
  }
  return out;
}

}  // namespace

/// {"system": a name, or "text" of an experiment; "kind", "nodes", "gpus_per_node", "from", "to"}.
Result<std::string> Answers::collective(const Message& m) {
  Place place;
  if (m.body.contains("system")) {
    TRY_ASSIGN(const std::string name, name_in(m.body, "system"));
    TRY_ASSIGN(place, place_of_system(name));
  } else {
    TRY_ASSIGN(const std::string text, asked_text(m.body));
    TRY_ASSIGN(const ConfigNode parsed, predictions_.parse(text));
    TRY_ASSIGN(const config::Experiment e, predictions_.resolve(parsed));
    place = {e.cluster, e.device, pipeline::collective_options_of(e)};
  }
  TRY_ASSIGN(const std::string word, string_in(m.body, "kind"));
  TRY_ASSIGN(const graph::CollectiveKind kind, graph::parse_collective(word));
  TRY_ASSIGN(place.cluster.nodes, integer_within(m.body, "nodes", 1, kMostGpus, place.cluster.nodes));
  TRY_ASSIGN(const std::int64_t gpus,
             integer_within(m.body, "gpus_per_node", 1, place.cluster.gpus_per_node, place.cluster.gpus_per_node));
  if (place.cluster.nodes * place.cluster.gpus_per_node > kMostGpus)
    return unexpected("nodes", "at most " + std::to_string(kMostGpus) + " GPUs");
  TRY_ASSIGN(const std::int64_t from, integer_within(m.body, "from", 1, kMostBytes, 1024));
  TRY_ASSIGN(const std::int64_t to,
             integer_within(m.body, "to", from, kMostBytes, std::max<std::int64_t>(from, 1 << 30)));
  TRY_ASSIGN(const topology::Topology topology,
             topology::Topology::build(place.cluster, place.device.compute_capability));
  TRY_ASSIGN(const auto models, collectives::CollectiveModels::create(topology, place.options));
  std::vector<std::uint32_t> members;
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) members.push_back(node * topology.gpus_per_node() + gpu);
  }
  const topology::GroupFacts facts = topology.facts(members);
  TRY_ASSIGN(const auto curves, collectives::load_curves(topology, place.options));
  std::vector<std::int64_t> measured_sizes;
  Json measured = measured_json(curves, kind, facts, measured_sizes), points = Json::array();
  for (const std::int64_t bytes : sizes_between(from, to, std::move(measured_sizes))) {
    const graph::Collective op{kind, bytes, graph::DType::fp32, {}, {}};
    TRY_ASSIGN(const graph::Cost cost, models.price(op, facts));
    points.push_back(cost_json(static_cast<double>(bytes), cost));
  }
  TRY_ASSIGN(const std::int64_t at, integer_within(m.body, "at", 1, kMostBytes, to));
  const graph::Collective chosen{kind, at, graph::DType::fp32, {}, {}};
  TRY_ASSIGN(const graph::Cost cost, models.price(chosen, facts));
  return dumped({{"id", m.id},
                 {"type", "collective"},
                 {"system", place.cluster.name},
                 {"ranks", facts.ranks},
                 {"nodes", facts.nodes},
                 {"bottleneck", facts.bottleneck},
                 {"busbw_factor", graph::busbw_factor(kind, facts.ranks)},
                 {"points", std::move(points)},
                 {"measured", std::move(measured)},
                 {"at", cost_json(static_cast<double>(at), cost)},
                 {"explanation", models.explain(chosen, facts)},
                 {"remarks", models.remarks()}});
}

/// {"gpu": a name, or "text" of an experiment; "op", "dtype", "pass", "sizes": {"m": 4096}, "vary", "from", "to"}.
Result<std::string> Answers::op(const Message& m) {
  topology::DeviceSpec device;
  if (m.body.contains("gpu")) {
    TRY_ASSIGN(const std::string name, name_in(m.body, "gpu"));
    TRY_ASSIGN(device, config::load_device(name));
  } else {
    TRY_ASSIGN(const std::string text, asked_text(m.body));
    TRY_ASSIGN(const ConfigNode parsed, predictions_.parse(text));
    TRY_ASSIGN(const config::Experiment e, predictions_.resolve(parsed));
    device = e.device;
  }
  AskedOp asked;
  TRY_ASSIGN(const std::string op, string_in(m.body, "op"));
  TRY_ASSIGN(const std::string dtype, string_in(m.body, "dtype"));
  TRY_ASSIGN(const std::string pass, optional_string_in(m.body, "pass"));
  asked.row = {device.name, op, pass, dtype};
  const std::vector<std::string> known = opmodels::OpColumns::size_names();
  const auto sizes = m.body.find("sizes");
  if (sizes == m.body.end() || !sizes->is_object() || sizes->size() > kMostSizes)
    return unexpected("sizes", "an object such as {\"m\": \"4096\"}");
  for (const auto& [name, value] : sizes->items()) {
    if (!value.is_string()) return unexpected("sizes", "texts as values");
    TRY(asked.add(name, value.get<std::string>(), known));
  }
  TRY_ASSIGN(const opmodels::OpModels models, pipeline::op_models_of(device));
  TRY_ASSIGN(const opmodels::OpRow row, op_of(asked));
  TRY_ASSIGN(const graph::Cost cost, opmodels::price_row(models, row, device.name));
  std::string what;
  for (const graph::Op& part : row.ops) what += (what.empty() ? "" : " + ") + graph::describe(part);
  Json out{{"id", m.id},
           {"type", "op"},
           {"device", device.name},
           {"what", what},
           {"at", cost_json(0, cost)},
           {"flops", useful_flops(row)},
           {"points", Json::array()},
           {"measured", Json::array()},
           {"has_measured", models.measured() != nullptr}};
  TRY_ASSIGN(const std::string varied, optional_string_in(m.body, "vary"));
  if (varied.empty()) return dumped(out);
  if (std::ranges::find(known, varied) == known.end()) return unexpected("vary", "one of the op's sizes");
  TRY_ASSIGN(const std::int64_t from, integer_within(m.body, "from", 1, kMostBytes, 1));
  TRY_ASSIGN(const std::int64_t to,
             integer_within(m.body, "to", from, kMostBytes, std::max<std::int64_t>(from, 65'536)));
  std::vector<std::int64_t> also;
  out["measured"] = measured_along(models, asked, varied, static_cast<double>(from), static_cast<double>(to), also);
  std::string refused;
  for (const std::int64_t size : sizes_between(from, to, std::move(also))) {
    const auto one = op_of(asked, varied, std::to_string(size));
    const auto priced = one.ok() ? opmodels::price_row(models, *one, device.name) : Result<graph::Cost>(one.error());
    if (!priced.ok()) {  // one that is too large, say, has no place on the curve
      refused = priced.error().text();
      continue;
    }
    Json point = cost_json(static_cast<double>(size), *priced);
    point.push_back(useful_flops(*one));
    out["points"].push_back(std::move(point));
  }
  if (out["points"].empty()) return Error{varied + ": " + refused, "message", ""};
  return dumped(out);
}

/// Kinds of ops with the sizes of a typical one, GPUs and data types: what the calculator offers.
Result<std::string> Answers::ops(const Message& m) {
  Json kinds = Json::array(), dtypes = Json::array(), collectives = Json::array();
  const std::vector<std::string> rows = opmodels::row_op_names();
  for (const opmodels::OpModelEntry& entry : opmodels::op_model_entries()) {
    if (graph::work_of(entry.example) != graph::Work::kernel) continue;
    if (std::ranges::find(rows, entry.kind) == rows.end() && entry.kind != "gemm") continue;
    kinds.push_back({{"op", std::string(entry.kind)},
                     {"sentence", std::string(entry.sentence)},
                     {"sizes", sizes_json(entry.example)}});
  }
  for (const std::string_view name : graph::kNames<graph::DType>) dtypes.push_back(std::string(name));
  for (const std::string_view name : graph::kNames<graph::CollectiveKind>) collectives.push_back(std::string(name));
  return dumped({{"id", m.id},
                 {"type", "ops"},
                 {"ops", std::move(kinds)},
                 {"dtypes", std::move(dtypes)},
                 {"collectives", std::move(collectives)},
                 {"gpus", config::names_in("devices")}});
}

}  // namespace distsim::web
