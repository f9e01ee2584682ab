#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>
#include <utility>

#include "base/log.hpp"
#include "base/output.hpp"
#include "base/system/inputs/open_input.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "opmodels/csv/cost_csv.hpp"
#include "sim/api/idle_choices.hpp"
#include "sim/api/priced.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/earlier_results.hpp"
#include "sim/app/unheeded.hpp"
#include "sim/config/config.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/pipeline/device_models.hpp"

namespace distsim::app {
namespace {

struct CollectiveFlags {
  api::CollectiveRequest request;
  std::string bytes, csv = "-";
  bool no_curves = false;
};

std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t begin = 0;;) {
    const std::size_t comma = list.find(',', begin);
    out.push_back(list.substr(begin, comma - begin));
    if (comma == std::string::npos) return out;
    begin = comma + 1;
  }
}

api::CollectiveRequest request_of(const CollectiveFlags& f) {
  api::CollectiveRequest request = f.request;
  request.bytes = split_list(f.bytes);
  request.use_curves = !f.no_curves;
  return request;
}

/// A table that did not take the place of an earlier one cannot say why it has no figures.
std::string where_to_look(const EarlierResults& earlier, const std::string& first_problem) {
  const std::string unchanged = earlier.unchanged();
  return unchanged.empty() ? "see the basis column" : "the first: " + first_problem + "; " + unchanged;
}

/// Rather than of a file in the folders of curves, which the remark would begin with.
bool is_of_flag(const std::string& remark, const CollectiveFlags& f, const collectives::CollectiveOptions& options) {
  return !f.request.curves.empty() && std::ranges::none_of(options.curve_dirs, [&](const std::string& dir) {
    return remark.starts_with(dir + "/");
  });
}

Result<void> price_collective(const CollectiveFlags& f, const CLI::App& command) {
  TRY(check_outputs({{"--csv", f.csv}}));
  const api::CollectiveRequest request = request_of(f);
  TRY_ASSIGN(const api::PricedCollective with, api::priced_collective(request));
  for (const std::string& line : api::sizes_in_parts(with)) log_warn([&] { return line; });
  for (const std::string& remark : with.remarks)
    distsim::remark((is_of_flag(remark, f, with.options) ? "--curve: " : "") + remark);
  for (const std::string& doubt : with.doubts) distsim::remark(doubt);
  if (const std::string line = api::unheeded_choice(with); !line.empty()) distsim::remark(line);
  name_idle(command, api::idle_choices(request, with));
  const EarlierResults earlier(with.table.unpriced == with.sizes.size(), {f.csv});
  if (earlier.gives_way(f.csv)) TRY(write_file_atomically(f.csv, with.table.text));
  if (with.table.unpriced == 0) return {};
  return Error{
      std::to_string(with.table.unpriced) + " of " + std::to_string(with.sizes.size()) + " sizes could not be priced",
      "", where_to_look(earlier, with.table.rows.front().error)};
}

void add_cost_collective(CLI::App& cost, Action& action) {
  auto f = std::make_shared<CollectiveFlags>();
  CLI::App* sub =
      cost.add_subcommand("collective", "Cost of one collective over the first GPUs of each node, for a list of sizes");
  sub->add_option("--system", f->request.system, "System name (distsim list systems) or file")->required();
  sub->add_option(
         "--kind", f->request.kind,
         "all_reduce, all_gather, reduce_scatter, all_to_all, all_to_all_v, broadcast, reduce, gather, scatter, send_recv or barrier")
      ->required();
  sub->add_option("--nodes", f->request.nodes, "Nodes")->check(CLI::Range(1u, 1u << 20));
  sub->add_option("--gpus-per-node", f->request.gpus_per_node, "GPUs per node that take part; default: all")
      ->check(CLI::Range(1u, 1024u));
  sub->add_option("--bytes", f->bytes, "Sizes as in the size column of nccl-tests: 8,1MiB,64MiB")->required();
  sub->add_option("--curve", f->request.curves,
                  "Measurements to prefer: a curve file or an nccl-tests log; may be repeated")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_option("--launch", f->request.launch, "mpi (one rank per process) or single_process")->type_name("LAUNCH");
  sub->add_option("--algorithms", f->request.algorithms,
                  "Algorithms that NCCL may choose, as in NCCL_ALGO: Ring,Tree,...")
      ->delimiter(',');
  sub->add_option("--protocols", f->request.protocols,
                  "Protocols that NCCL may choose, as in NCCL_PROTO: LL,LL128,Simple")
      ->delimiter(',');
  sub->add_option(
         "--exchange", f->request.exchange,
         "all_to_all across nodes: grouped (NCCL), hierarchical (NVLink, then rails) or rdma (the same, with the framework's RDMA writes along rails)")
      ->type_name("EXCHANGE");
  sub->add_option("--all-reduce", f->request.all_reduce,
                  "all_reduce: nccl, or one_shot (one kernel of the framework over NVSwitch, with SHARP across nodes)")
      ->type_name("WAY");
  sub->add_flag(
      "--side-by-side", f->request.side_by_side,
      "The other GPUs of the nodes run the same collective concurrently in their own groups (rails: --gpus-per-node 1 --side-by-side)");
  sub->add_flag("--allow-partial", f->request.allow_partial, "Accept curve files from a run that did not finish");
  sub->add_flag("--no-curves", f->no_curves, "Analytic model only, no measured curves")->excludes("--curve");
  sub->add_flag("--explain", f->request.explain,
                "Explain the cost: candidates, algorithm, protocol, steps, bottleneck");
  sub->add_option("--csv", f->csv, "Output file; - is standard output (the default)")->check(refuse_empty);
  sub->callback([f, sub, &action] { action = [f, sub] { return price_collective(*f, *sub); }; });
}

struct OpFlags {
  std::string input, csv = "-";
  api::OpRequest request;
  std::vector<std::string> sizes;
};

/// "m=4096" into its two halves.
Result<std::pair<std::string, std::string>> split_size(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0 && equals + 1 < text.size())
    return std::pair(text.substr(0, equals), text.substr(equals + 1));
  return Error{"found '" + text + "', expected NAME=VALUE, e.g. m=4096", "", ""};
}

Result<api::OpRequest> request_of(const OpFlags& f) {
  api::OpRequest request = f.request;
  for (const std::string& text : f.sizes) {
    TRY_ASSIGN(auto size, split_size(text));
    request.sizes.push_back(std::move(size));
  }
  return request;
}

Error missing(const char* flag) {
  return Error{std::string(flag) + ": missing, expected it with the op's sizes, or --input with a file of shapes", "",
               "try `distsim cost op --help`"};
}

/// Names the sizes without which the op is the same, and a data type that it does not have.
Result<void> price_one(const OpFlags& f, const CLI::App& command) {
  pipeline::DeviceModels devices;
  TRY_ASSIGN(const api::OpRequest request, request_of(f));
  const auto found = api::priced_op(request, devices);
  if (!found.ok() && request.dtype.empty() && found.error().what.starts_with("dtype: missing"))
    return missing("--dtype");
  TRY_ASSIGN(const api::PricedOp priced, found);
  if (!request.dtype.empty() && !priced.heeds_dtype) name_unheeded(command, {"--dtype"}, "the cost is the same");
  for (const std::size_t i : priced.idle)
    log_warn([&] { return printable(f.sizes[i], 120) + ": no effect, the op is the same"; });
  for (const std::string& doubt : devices.doubts()) remark(doubt);
  return print(priced.text);
}

Result<void> price_file(const OpFlags& f) {
  TRY(check_outputs({{"--csv", f.csv}}));
  TRY_ASSIGN(const auto in, open_input_stream(f.input));
  if (in->peek() == std::istream::traits_type::eof() && !in->bad())
    return Error{"found an empty file, expected a CSV header", f.input, ""};
  TRY(check_outputs({{"--csv", f.csv}}));
  pipeline::DeviceModels devices;
  opmodels::CostCsvCount count;
  FilesTogether files;
  TRY(files.write_stream(f.csv, [&](std::ostream& out) -> Result<void> {
    TRY_ASSIGN(count, opmodels::cost_csv(*in, f.input, out, [&](std::string_view gpu) { return devices(gpu); }));
    return {};
  }));
  const EarlierResults earlier(count.rows > 0 && count.unpriced == count.rows, {f.csv});
  if (earlier.gives_way(f.csv)) TRY(files.keep());
  for (const std::string& text : count.remarks) remark(f.input + ": " + text);
  for (const std::string& doubt : devices.doubts()) remark(doubt);
  if (count.rows > 0 && count.unpriced == count.rows)
    return Error{"none of " + std::to_string(count.rows) + " rows could be priced", f.input,
                 where_to_look(earlier, count.first_problem)};
  if (count.unpriced > 0)
    remark(fmt::format("{} of {} rows could not be priced; see the basis column", count.unpriced, count.rows));
  return {};
}

Result<void> price_ops(const OpFlags& f, const CLI::App& command) {
  if (!f.input.empty()) return price_file(f);
  for (const auto& [flag, value] : {std::pair("--gpu", &f.request.gpu), {"--op", &f.request.op}}) {
    if (value->empty()) return missing(flag);
  }
  return price_one(f, command);
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
  sub->add_option("--gpu", f->request.gpu, "One op: the GPU, by any of its names")->excludes(input);
  sub->add_option(
         "--op", f->request.op,
         "One op: linear, conv2d, embedding_bag, interaction, cross_layer, flash_attention, adam, copy_h2d, ...")
      ->excludes(input);
  sub->add_option("--pass", f->request.pass, "One op: fwd (the default), bwd, bwd_data, bwd_weight or bwd+OPTIMIZER")
      ->excludes(input);
  sub->add_option("--dtype", f->request.dtype, "One op that has one: fp32, tf32, fp16, bf16, fp8, ...")
      ->excludes(input);
  sub->add_option("sizes", f->sizes, "One op: its sizes, named like the CSV columns, e.g. m=4096 n=1024 k=1024")
      ->excludes(input);
  sub->callback([f, sub, &action] { action = [f, sub] { return price_ops(*f, *sub); }; });
}

void declare_cost(CLI::App& self, Action& action) {
  self.require_subcommand(1);
  add_cost_collective(self, action);
  add_cost_op(self, action);
}

constexpr Refusal kCostRefuses[] = {
    {"", "found no command"},
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
