#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>
#include <utility>

#include "base/log.hpp"
#include "base/output.hpp"
#include "base/system/open_input.hpp"
#include "base/text/printable.hpp"
#include "base/text/spelling.hpp"
#include "collectives/cost_table.hpp"
#include "collectives/selection.hpp"
#include "opmodels/csv/cost_csv.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/unheeded.hpp"
#include "sim/config/config.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/pipeline/device_models.hpp"

namespace distsim::app {
namespace {

struct CollectiveFlags {
  std::string system, kind, bytes, csv = "-", launch = "mpi", exchange = "grouped", all_reduce = "nccl";
  std::uint32_t nodes = 1, gpus_per_node = 0;
  std::vector<std::string> curves, algorithms, protocols;
  bool no_curves = false, explain = false, allow_partial = false, side_by_side = false;
};

/// One size: a plain number of bytes, or with a unit ("1MiB"), or with nccl-tests' binary suffix ("1M").
Result<std::int64_t> parse_size(std::string text) {
  const auto wrong = [&] {
    return Error{"--bytes: found '" + text + "', expected a size such as 8, 1MiB, 64 MB or 1G (nccl-tests)", "", ""};
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
  if (size && *size > 9e18) return Error{"--bytes: found '" + text + "', expected at most 9e18 bytes", "", ""};
  if (!size || *size < 0) return wrong();
  // 1.1 MB is a whole number of bytes, 0.1 KiB is not; binary fractions of a unit are off by a rounding.
  if (std::abs(*size - std::round(*size)) > 1e-9 * *size)
    return Error{"--bytes: found '" + text + "', expected a whole number of bytes", "", ""};
  return std::llround(*size);
}

Result<std::vector<std::int64_t>> parse_sizes(const std::string& list) {
  std::vector<std::int64_t> sizes;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t comma = list.find(',', begin);
    TRY_ASSIGN(const std::int64_t size, parse_size(list.substr(begin, comma - begin)));
    sizes.push_back(size);
    if (comma == std::string::npos) return sizes;
    begin = comma + 1;
  }
}

/// nccl-tests would round such a size down; the price is that of the size as it stands.
void warn_of_parts(graph::CollectiveKind kind, const std::vector<std::int64_t>& sizes, std::uint32_t ranks) {
  const bool divided = kind == graph::CollectiveKind::all_gather || kind == graph::CollectiveKind::reduce_scatter ||
                       kind == graph::CollectiveKind::all_to_all || kind == graph::CollectiveKind::gather ||
                       kind == graph::CollectiveKind::scatter;
  for (std::int64_t bytes : sizes) {
    if (divided && bytes % ranks != 0) {
      log_warn([&] {
        return fmt::format("--bytes: {} is not a multiple of {} ranks; nccl-tests would send less", bytes, ranks);
      });
    }
  }
}

/// NCCL ignores a choice that leaves nothing, and so does the price. True where that is so.
bool warn_of_unheeded(graph::CollectiveKind kind, const topology::GroupFacts& facts,
                      const collectives::CollectiveOptions& options) {
  if (facts.ranks < 2 || (options.algorithms.empty() && options.protocols.empty())) return false;
  const collectives::Selection selection = collectives::selection_of(options);
  if (collectives::any_allowed(collectives::candidates_for(kind, collectives::channels_of(facts)),
                               collectives::selection_for(kind, selection)))
    return false;
  remark(fmt::format(
      "--algorithms, --protocols: none of them supports {} on this group; priced with NCCL's default choice",
      graph::name_of(kind)));
  return true;
}

Result<collectives::CollectiveOptions> options_of(const CollectiveFlags& f) {
  collectives::CollectiveOptions options;
  options.use_curves = !f.no_curves;
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

struct PricedCollective {
  graph::CollectiveKind kind;
  std::vector<std::int64_t> sizes;
  std::uint32_t ranks = 0;
  collectives::CollectiveOptions options;
  std::vector<std::string> remarks;  ///< on the files of --curve
  collectives::CostTable table;
};

Result<PricedCollective> priced(const CollectiveFlags& f) {
  PricedCollective out;
  TRY_ASSIGN(out.kind, graph::parse_collective(f.kind));
  TRY_ASSIGN(out.sizes, parse_sizes(f.bytes));
  TRY_ASSIGN(topology::ClusterSpec spec, config::load_system(f.system));
  TRY_ASSIGN(const topology::DeviceSpec device, config::load_device(spec.device));
  spec.nodes = f.nodes;
  const std::uint32_t gpus = f.gpus_per_node > 0 ? f.gpus_per_node : static_cast<std::uint32_t>(spec.gpus_per_node);
  TRY_ASSIGN(const topology::Topology topology, topology::Topology::build(spec, device.compute_capability));
  out.ranks = f.nodes * gpus;
  TRY_ASSIGN(out.options, options_of(f));
  TRY_ASSIGN(const collectives::CollectiveModels models, collectives::CollectiveModels::create(topology, out.options));
  out.remarks.assign(models.remarks().begin(), models.remarks().end());
  TRY_ASSIGN(out.table, collectives::collective_cost_table(
                            topology, models, {out.kind, f.nodes, gpus, out.sizes, true, f.side_by_side, f.explain}));
  return out;
}

/// A flag that may be left out, and how: false where the command line reads the same without it.
struct OptionalFlag {
  const char* name;
  bool (*leave_out)(CollectiveFlags&);
};
constexpr OptionalFlag kOptionalFlags[] = {
    {"--curve", [](CollectiveFlags& f) { return !std::exchange(f.curves, {}).empty(); }},
    {"--no-curves", [](CollectiveFlags& f) { return std::exchange(f.no_curves, false); }},
    {"--allow-partial", [](CollectiveFlags& f) { return std::exchange(f.allow_partial, false); }},
    {"--side-by-side", [](CollectiveFlags& f) { return std::exchange(f.side_by_side, false); }},
    {"--algorithms", [](CollectiveFlags& f) { return !std::exchange(f.algorithms, {}).empty(); }},
    {"--protocols", [](CollectiveFlags& f) { return !std::exchange(f.protocols, {}).empty(); }},
    {"--launch", [](CollectiveFlags& f) { return std::exchange(f.launch, "mpi") != "mpi"; }},
    {"--exchange", [](CollectiveFlags& f) { return std::exchange(f.exchange, "grouped") != "grouped"; }},
    {"--all-reduce", [](CollectiveFlags& f) { return std::exchange(f.all_reduce, "nccl") != "nccl"; }},
};

/// The same price comes out without them.
void name_idle_flags(const CollectiveFlags& f, const PricedCollective& with, const CLI::App& command,
                     bool choice_named) {
  for (const OptionalFlag& flag : kOptionalFlags) {
    CollectiveFlags rest = f;
    if (!flag.leave_out(rest)) continue;
    if (choice_named && (!f.algorithms.empty() && rest.algorithms.empty())) continue;
    if (choice_named && (!f.protocols.empty() && rest.protocols.empty())) continue;
    const auto without = [&] {
      const LogSilence silence;
      return priced(rest);
    }();
    if (without && without->table.text == with.table.text) name_unheeded(command, {flag.name}, "the cost is the same");
  }
}

Result<void> price_collective(const CollectiveFlags& f, const CLI::App& command) {
  TRY(check_outputs({{"--csv", f.csv}}));
  TRY_ASSIGN(const PricedCollective with, priced(f));
  warn_of_parts(with.kind, with.sizes, with.ranks);
  for (const std::string& remark : with.remarks) distsim::remark("--curve: " + remark);
  const bool choice_ignored = warn_of_unheeded(with.kind, with.table.facts, with.options);
  name_idle_flags(f, with, command, choice_ignored);
  TRY(write_file_atomically(f.csv, with.table.text));
  if (with.table.unpriced == 0) return {};
  return Error{std::to_string(with.table.unpriced) + " of " + std::to_string(with.sizes.size()) +
                   " sizes could not be priced; see the basis column",
               "", ""};
}

void add_cost_collective(CLI::App& cost, Action& action) {
  auto f = std::make_shared<CollectiveFlags>();
  CLI::App* sub =
      cost.add_subcommand("collective", "Cost of one collective over the first GPUs of each node, for a list of sizes");
  sub->add_option("--system", f->system, "System name (distsim list systems) or file")->required();
  sub->add_option(
         "--kind", f->kind,
         "all_reduce, all_gather, reduce_scatter, all_to_all, all_to_all_v, broadcast, reduce, gather, scatter, send_recv or barrier")
      ->required();
  sub->add_option("--nodes", f->nodes, "Nodes")->check(CLI::Range(1u, 1u << 20));
  sub->add_option("--gpus-per-node", f->gpus_per_node, "GPUs per node that take part; default: all")
      ->check(CLI::Range(1u, 1024u));
  sub->add_option("--bytes", f->bytes, "Sizes as in the size column of nccl-tests: 8,1MiB,64MiB")->required();
  sub->add_option("--curve", f->curves, "Measurements to prefer: a curve file or an nccl-tests log; may be repeated")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_option("--launch", f->launch, "mpi (one rank per process) or single_process")->type_name("LAUNCH");
  sub->add_option("--algorithms", f->algorithms, "Algorithms that NCCL may choose, as in NCCL_ALGO: Ring,Tree,...")
      ->delimiter(',');
  sub->add_option("--protocols", f->protocols, "Protocols that NCCL may choose, as in NCCL_PROTO: LL,LL128,Simple")
      ->delimiter(',');
  sub->add_option(
         "--exchange", f->exchange,
         "all_to_all across nodes: grouped (NCCL), hierarchical (NVLink, then rails) or rdma (the same, with the framework's RDMA writes along rails)")
      ->type_name("EXCHANGE");
  sub->add_option("--all-reduce", f->all_reduce,
                  "all_reduce: nccl, or one_shot (one kernel of the framework over NVSwitch, with SHARP across nodes)")
      ->type_name("WAY");
  sub->add_flag(
      "--side-by-side", f->side_by_side,
      "The other GPUs of the nodes run the same collective concurrently in their own groups (rails: --gpus-per-node 1 --side-by-side)");
  sub->add_flag("--allow-partial", f->allow_partial, "Accept curve files from a run that did not finish");
  sub->add_flag("--no-curves", f->no_curves, "Analytic model only, no measured curves")->excludes("--curve");
  sub->add_flag("--explain", f->explain, "Explain the cost: candidates, algorithm, protocol, steps, bottleneck");
  sub->add_option("--csv", f->csv, "Output file; - is standard output (the default)")->check(refuse_empty);
  sub->callback([f, sub, &action] { action = [f, sub] { return price_collective(*f, *sub); }; });
}

struct OpFlags {
  std::string input, csv = "-";
  std::string gpu, op, pass, dtype;
  std::vector<std::string> sizes;
};

/// "m=4096" into its two halves.
Result<std::pair<std::string, std::string>> split_size(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0 && equals + 1 < text.size())
    return std::pair(text.substr(0, equals), text.substr(equals + 1));
  return Error{"found '" + text + "', expected NAME=VALUE, e.g. m=4096", "", ""};
}

/// The op of the command line as a shapes file of one row.
Result<std::string> one_row(const OpFlags& f) {
  std::vector<std::string> header{"gpu", "op", "pass", "dtype"}, row{f.gpu, f.op, f.pass, f.dtype};
  const std::vector<std::string> known = opmodels::OpColumns::size_names();
  for (const std::string& text : f.sizes) {
    TRY_ASSIGN(const auto size, split_size(text));
    if (std::find(known.begin(), known.end(), size.first) == known.end()) {
      return Error{"found the size '" + size.first + "', expected one of those in docs/op_models.md", "",
                   spelling_hint(size.first, known)};
    }
    if (std::find(header.begin(), header.end(), size.first) != header.end())
      return Error{"found the size '" + size.first + "' twice, expected it once", "", ""};
    header.push_back(size.first);
    row.push_back(size.second);
  }
  return csv_line(header) + csv_line(row);
}

/// The op itself for people: "gemm 4096x1024x1024 bf16 on h100_sxm5_80gb: 12.3 us (11.2 to 13.9), learned (learned
/// product16)".
Result<std::string> priced_op(const OpFlags& f, pipeline::DeviceModels& devices) {
  TRY_ASSIGN(const std::string text, one_row(f));
  std::istringstream in(text);
  TRY_ASSIGN(CsvReader reader, CsvReader::open(in, "the command line"));
  TRY_ASSIGN(const opmodels::OpColumns columns, opmodels::OpColumns::of_one_op(reader));
  TRY_ASSIGN(const auto fields, reader.next());
  TRY_ASSIGN(const opmodels::OpModels* models, devices(f.gpu));
  TRY_ASSIGN(const opmodels::OpRow row, opmodels::op_from_row(columns, *fields));
  TRY_ASSIGN(const graph::Cost cost, opmodels::price_row(*models, row, f.gpu));
  std::string ops;
  for (const graph::Op& op : row.ops) ops += (ops.empty() ? "" : " + ") + graph::describe(op);
  return fmt::format("{} on {}: {:.6g} us ({:.6g} to {:.6g}), {}\n", ops, models->device().name, cost.mean.us(),
                     cost.low.us(), cost.high.us(), cost.source.empty() ? graph::name_of(cost.basis) : cost.source);
}

/// Names the sizes without which the op is the same.
Result<void> price_one(const OpFlags& f) {
  pipeline::DeviceModels devices;
  TRY_ASSIGN(const std::string line, priced_op(f, devices));
  for (std::size_t i = 0; i < f.sizes.size(); ++i) {
    OpFlags rest = f;
    rest.sizes.erase(rest.sizes.begin() + static_cast<std::ptrdiff_t>(i));
    const auto without = priced_op(rest, devices);
    if (without && *without == line)
      log_warn([&] { return printable(f.sizes[i], 120) + ": no effect, the op is the same"; });
  }
  return print(line);
}

Result<void> price_file(const OpFlags& f) {
  TRY(check_outputs({{"--csv", f.csv}}));
  TRY_ASSIGN(const auto in, open_input_stream(f.input));
  if (in->peek() == std::istream::traits_type::eof() && !in->bad())
    return Error{"found an empty file, expected a CSV header", f.input, ""};
  TRY(check_outputs({{"--csv", f.csv}}));
  pipeline::DeviceModels devices;
  opmodels::CostCsvCount count;
  TRY(write_stream_atomically(f.csv, [&](std::ostream& out) -> Result<void> {
    TRY_ASSIGN(count, opmodels::cost_csv(*in, f.input, out, [&](std::string_view gpu) { return devices(gpu); }));
    return {};
  }));
  if (count.rows > 0 && count.unpriced == count.rows)
    return Error{"none of " + std::to_string(count.rows) + " rows could be priced; see the basis column", f.input, ""};
  if (count.unpriced > 0)
    remark(fmt::format("{} of {} rows could not be priced; see the basis column", count.unpriced, count.rows));
  return {};
}

Result<void> price_ops(const OpFlags& f) {
  if (!f.input.empty()) return price_file(f);
  for (const auto& [flag, value] : {std::pair("--gpu", &f.gpu), {"--op", &f.op}, {"--dtype", &f.dtype}}) {
    if (value->empty())
      return Error{std::string(flag) + ": missing, expected it with the op's sizes, or --input with a file of shapes",
                   "", "try `distsim cost op --help`"};
  }
  return price_one(f);
}

void add_cost_op(CLI::App& cost, Action& action) {
  auto f = std::make_shared<OpFlags>();
  CLI::App* sub = cost.add_subcommand("op", "Cost of one op, or of each op in a CSV of shapes");
  CLI::Option* input =
      sub->add_option("--input", f->input, "CSV with the columns gpu, op, pass, dtype and the op's dimensions")
          ->check(refuse_empty);
  sub->add_option("--csv", f->csv, "Output file; - is standard output (the default)")
      ->check(refuse_empty)
      ->needs(input);
  sub->add_option("--gpu", f->gpu, "One op: the GPU, by any of its names")->excludes(input);
  sub->add_option(
         "--op", f->op,
         "One op: linear, conv2d, embedding_bag, interaction, cross_layer, flash_attention, adam, copy_h2d, ...")
      ->excludes(input);
  sub->add_option("--pass", f->pass, "One op: fwd (the default), bwd, bwd_data, bwd_weight or bwd+OPTIMIZER")
      ->excludes(input);
  sub->add_option("--dtype", f->dtype, "One op: fp32, tf32, fp16, bf16, fp8, ...")->excludes(input);
  sub->add_option("sizes", f->sizes, "One op: its sizes, named like the CSV columns, e.g. m=4096 n=1024 k=1024")
      ->excludes(input);
  sub->callback([f, &action] { action = [f] { return price_ops(*f); }; });
}

void declare_cost(CLI::App& self, Action& action) {
  self.require_subcommand(1);
  add_cost_collective(self, action);
  add_cost_op(self, action);
}

constexpr Refusal kCostRefuses[] = {
    {"", "subcommand"},
    {"collective --system dgx_a100_80gb --kind all_reduse --nodes 2 --bytes 8", "all_reduce"},
};

}  // namespace

const Command cost_command{
    .name = "cost",
    .description = "Price a single collective, or one or more ops",
    .refuses = kCostRefuses,
    .declare = declare_cost,
};

}  // namespace distsim::app
