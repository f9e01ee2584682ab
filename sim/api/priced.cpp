#include "sim/api/priced.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/text/csv.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/names/words.hpp"
#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"
#include "opmodels/csv/cost_csv.hpp"
#include "sim/config/config.hpp"
#include "sim/config/config_folders.hpp"
#include "topology/devices/device_doubts.hpp"

namespace distsim::api {
namespace {

/// One size: a plain number of bytes, or with a unit ("1MiB"), or with nccl-tests' binary suffix ("1M").
Result<std::int64_t> parse_size(std::string text) {
  const auto wrong = [&] {
    return Error{"--bytes: found " + in_quotes(text) + ", expected a size such as 8, 1MiB, 64 MB or 1G (nccl-tests)",
                 "", number_hint(text)};
  };
  if (text.empty()) return wrong();
  if (const auto plain = parse_integer(text)) return *plain >= 0 ? Result<std::int64_t>(*plain) : wrong();
  std::string with_unit = text;
  if (const auto bare = parse_quantity(text + " B", Dimension::bytes)) {
    if (*bare != std::floor(*bare)) return wrong();
    with_unit += " B";  // a number that int64 does not hold
  }
  if (std::string("KMG").find(text.back()) != std::string::npos) with_unit += "iB";
  const auto size = parse_quantity(with_unit, Dimension::bytes);
  if (size && *size > 9e18) return Error{"--bytes: found " + in_quotes(text) + ", expected at most 9e18 bytes", "", ""};
  if (!size || *size < 0) return wrong();
  // 1.1 MB is a whole number of bytes, 0.1 KiB is not; binary fractions of a unit are off by a rounding.
  if (std::abs(*size - std::round(*size)) > 1e-9 * *size)
    return Error{"--bytes: found " + in_quotes(text) + ", expected a whole number of bytes", "", ""};
  return std::llround(*size);
}

Result<void> in_range(const char* flag, std::uint32_t value, std::uint32_t least, std::uint32_t most) {
  if (value >= least && value <= most) return {};
  return Error{fmt::format("{}: found {}, expected {} .. {}", flag, value, least, most), "", ""};
}

Result<collectives::CollectiveOptions> options_of(const CollectiveRequest& f) {
  collectives::CollectiveOptions options;
  options.use_curves = f.use_curves;
  options.curve_files = f.curves;
  options.curve_dirs = config::curve_folders();
  options.constants = config::changed_constants();
  options.allow_partial = f.allow_partial;
  TRY_ASSIGN(options.launch, read_word("--launch", f.launch, collectives::launch_words()));
  TRY_ASSIGN(options.exchange, read_word("--exchange", f.exchange, collectives::exchange_words()));
  TRY_ASSIGN(options.all_reduce, read_word("--all-reduce", f.all_reduce, collectives::reduction_words()));
  for (const std::string& word : f.algorithms) {
    TRY_ASSIGN(const auto* algorithm, read_word("--algorithms", word, collectives::nccl_algorithm_words()));
    options.algorithms.push_back(algorithm);
  }
  for (const std::string& word : f.protocols) {
    TRY_ASSIGN(const auto protocol, read_word("--protocols", word, collectives::protocol_words()));
    options.protocols.push_back(protocol);
  }
  return options;
}

/// The op of the command line as a shapes file of one row.
Result<std::string> one_row(const OpRequest& f) {
  std::vector<std::string> header{"gpu", "op", "pass", "dtype"}, row{f.gpu, f.op, f.pass, f.dtype};
  const std::vector<std::string> known = opmodels::OpColumns::size_names();
  for (const auto& size : f.sizes) {
    if (std::find(known.begin(), known.end(), size.first) == known.end()) {
      return Error{"found the size " + in_quotes(size.first) + ", expected one of those in docs/op_models.md", "",
                   spelling_hint(size.first, known)};
    }
    if (std::find(header.begin(), header.end(), size.first) != header.end())
      return Error{"found the size '" + size.first + "' twice, expected it once", "", ""};
    header.push_back(size.first);
    row.push_back(size.second);
  }
  return csv_line(header) + csv_line(row);
}

Result<opmodels::OpRow> row_of(const OpRequest& f) {
  TRY_ASSIGN(const std::string text, one_row(f));
  std::istringstream in(text);
  TRY_ASSIGN(CsvReader reader, CsvReader::open(in, "the command line"));
  TRY_ASSIGN(const opmodels::OpColumns columns, opmodels::OpColumns::of_one_op(reader));
  TRY_ASSIGN(const auto fields, reader.next());
  return opmodels::op_from_row(columns, *fields);
}

/// "batch, length and hidden"
std::string enumerated(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return out;
}

/// All sizes that an op lacks, not the first alone: each that a reader asks for is given until it asks for none.
Error with_all_missing(const OpRequest& f, Error error) {
  constexpr std::string_view kMissing = ": missing, expected";
  const std::vector<std::string> known = opmodels::OpColumns::size_names();
  OpRequest filled = f;
  std::vector<std::string> missing, given;
  for (const auto& size : f.sizes) given.push_back(size.first);
  std::string what = error.what;
  for (std::size_t tries = 0; tries < known.size(); ++tries) {
    const std::string name = what.substr(0, what.find(kMissing));
    if (name == what || std::find(known.begin(), known.end(), name) == known.end()) break;
    missing.push_back(name);
    filled.sizes.emplace_back(name, "1");
    const Result<opmodels::OpRow> row = row_of(filled);
    what = row.ok() ? "" : row.error().what;
  }
  if (missing.empty()) return error;
  error.what = f.op + ": found " + (given.empty() ? "no sizes" : "the sizes " + enumerated(given)) + ", expected " +
               (given.empty() ? "" : "also ") + enumerated(missing);
  return error;
}

}  // namespace

Result<PricedCollective> priced_collective(const CollectiveRequest& f) {
  PricedCollective out;
  TRY_ASSIGN(out.kind, graph::parse_collective(f.kind));
  for (const std::string& text : f.bytes) {
    TRY_ASSIGN(const std::int64_t size, parse_size(text));
    out.sizes.push_back(size);
  }
  TRY(in_range("--nodes", f.nodes, 1, 1u << 20));
  TRY(in_range("--gpus-per-node", f.gpus_per_node, 0, 1024));
  TRY_ASSIGN(topology::ClusterSpec spec, config::load_system(f.system));
  TRY_ASSIGN(const topology::DeviceSpec device, config::load_device(spec.device));
  spec.nodes = f.nodes;
  const std::uint32_t gpus = f.gpus_per_node > 0 ? f.gpus_per_node : static_cast<std::uint32_t>(spec.gpus_per_node);
  TRY_ASSIGN(const topology::Topology topology, topology::Topology::build(spec, device.compute_capability));
  out.ranks = f.nodes * gpus;
  TRY_ASSIGN(out.options, options_of(f));
  TRY_ASSIGN(const collectives::CollectiveModels models, collectives::CollectiveModels::create(topology, out.options));
  out.remarks.assign(models.remarks().begin(), models.remarks().end());
  for (const std::string& text : topology::device_doubts(device)) out.doubts.push_back(device.name + ": " + text);
  TRY_ASSIGN(out.table, collectives::collective_cost_table(
                            topology, models, {out.kind, f.nodes, gpus, out.sizes, true, f.side_by_side, f.explain}));
  return out;
}

namespace {

Result<PricedOp> priced_as_asked(const OpRequest& f, pipeline::DeviceModels& devices) {
  const Result<opmodels::OpRow> read = row_of(f);
  TRY_ASSIGN(const opmodels::OpModels* models, devices(f.gpu));
  if (!read.ok()) return with_all_missing(f, read.error());
  const opmodels::OpRow& row = *read;
  TRY_ASSIGN(const graph::Cost cost, opmodels::price_row(*models, row, f.gpu));
  PricedOp out{cost, std::string(cost.source), "", models->device().name, ""};
  out.cost.source = {};
  for (const graph::Op& op : row.ops) out.op += (out.op.empty() ? "" : " + ") + graph::describe(op);
  out.text = fmt::format("{} on {}: {:.6g} us ({:.6g} to {:.6g}), {}\n", out.op, out.device, cost.mean.us(),
                         cost.low.us(), cost.high.us(), out.source.empty() ? graph::name_of(cost.basis) : out.source);
  return out;
}

/// Whether the op is another with numbers of another size.
bool heeds_dtype(OpRequest f, pipeline::DeviceModels& devices, const std::string& text) {
  for (const char* other : {"fp16", "fp32"}) {
    f.dtype = other;
    const auto priced = priced_as_asked(f, devices);
    if (!priced || priced->text != text) return true;
  }
  return false;
}

/// The sizes without which the op is the same.
std::vector<std::size_t> idle_sizes(const OpRequest& f, pipeline::DeviceModels& devices, const std::string& text) {
  std::vector<std::size_t> idle;
  for (std::size_t i = 0; i < f.sizes.size(); ++i) {
    OpRequest rest = f;
    rest.sizes.erase(rest.sizes.begin() + static_cast<std::ptrdiff_t>(i));
    const auto without = priced_as_asked(rest, devices);
    if (without && without->text == text) idle.push_back(i);
  }
  return idle;
}

}  // namespace

Result<PricedOp> priced_op(const OpRequest& request, pipeline::DeviceModels& devices) {
  OpRequest f = request;
  const bool open = f.dtype.empty();
  if (open) f.dtype = "fp32";
  TRY_ASSIGN(PricedOp priced, priced_as_asked(f, devices));
  priced.heeds_dtype = heeds_dtype(f, devices, priced.text);
  if (open && priced.heeds_dtype) return Error{"dtype: missing, expected it with the op's sizes", "", ""};
  priced.idle = idle_sizes(f, devices, priced.text);
  return priced;
}

}  // namespace distsim::api
