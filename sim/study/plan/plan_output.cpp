// A plan as CSV, as a table for people and as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "base/json/json_text.hpp"
#include "base/text/columns.hpp"
#include "base/text/counted.hpp"
#include "base/text/csv.hpp"
#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"
#include "sim/report/text/format.hpp"
#include "sim/study/plan/plan.hpp"
#include "sim/study/plan/plan_rows.hpp"

namespace distsim::study {
namespace {

using report::Report;

double memory_gb(const Report& r) {
  const auto& m = r.context.memory_per_rank;
  return m.empty() ? 0 : static_cast<double>(*std::ranges::max_element(m)) * 1e-9;
}

double tokens_per_gpu(const Report& r) {
  const double gpus = double(r.context.nodes) * r.context.gpus_per_node;
  return r.context.tokens_per_sample * r.samples_per_second / gpus;
}

struct PlanColumn {
  const char* name;
  std::string (*cell)(const PlanRow&);
};

/// The contract's, then ours.
const std::vector<PlanColumn>& plan_columns() {
  using R = const PlanRow&;
  static const std::vector<PlanColumn> all{
      {"iteration_ms", [](R r) { return fixed_or_digits(r.report.iteration.ms(), 4); }},
      {"low_ms", [](R r) { return fixed_or_digits(r.report.low.ms(), 4); }},
      {"high_ms", [](R r) { return fixed_or_digits(r.report.high.ms(), 4); }},
      {"samples_per_s", [](R r) { return fixed_or_digits(r.report.samples_per_second, 3); }},
      {"tokens_per_s_per_gpu", [](R r) { return fixed_or_digits(tokens_per_gpu(r.report), 2); }},
      {"mfu", [](R r) { return fixed_or_digits(r.report.mfu, 4); }},
      {"exposed_comm_ms", [](R r) { return fixed_or_digits(r.report.exposed_comm.ms(), 4); }},
      {"memory_gb", [](R r) { return fixed_or_digits(memory_gb(r.report), 3); }},
  };
  return all;
}

std::string objective_text(const Goal& goal) {
  return std::string(name_of(goal.objective)) + (goal.second ? "," + std::string(name_of(*goal.second)) : "");
}

const char* kind_word(PlanRowKind kind) { return kind == PlanRowKind::candidate ? "false" : "true"; }

std::string limiter_of(const PlanRow& row) {
  return row.error.empty() ? report::text_of(row.report.limits.limited_by) : "";
}

/// What an empty list of a key means.
std::string_view empty_list_text(std::string_view key) {
  if (key == "parallel.stage_layers") return "even";
  return key == "collectives.algorithms" ? "any" : "none";
}

/// "[11, 10, 10, 9]" as "11 10x2 9".
std::string short_value(std::string_view key, const std::string& value) {
  if (!value.starts_with("[")) return value;
  std::string out, last;
  std::size_t repeats = 0;
  const auto flush = [&] {
    if (repeats > 0) out += (out.empty() ? "" : " ") + last + (repeats > 1 ? "x" + std::to_string(repeats) : "");
  };
  std::string item;
  for (const char c : value.substr(1)) {
    if (c != ',' && c != ']') {
      if (c != ' ') item += c;
      continue;
    }
    if (item != last) {
      flush();
      last = item;
      repeats = 0;
    }
    repeats += item.empty() ? 0 : 1;
    item.clear();
  }
  flush();
  return out.empty() ? std::string(empty_list_text(key)) : out;
}

std::string frame(const std::vector<std::string>& lines) {
  std::size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, line.size());
  const std::string edge = "+" + std::string(width + 2, '-') + "+\n";
  std::string out = edge;
  for (const std::string& line : lines) out += fmt::format("| {:<{}} |\n", line, width);
  return out + edge;
}

const PlanRow* baseline_of_plan(const Plan& plan) {
  const auto it = std::ranges::find_if(plan.rows, [](const PlanRow& r) { return r.kind != PlanRowKind::candidate; });
  return it == plan.rows.end() ? nullptr : &*it;
}

double baseline_ratio(const Plan& plan, const PlanRow& row) {
  const PlanRow* base = baseline_of_plan(plan);
  if (base == nullptr || !base->error.empty() || row.value <= 0) return 0;
  return base->value / row.value;
}

/// "1.39x faster", "0.3 % faster".
std::string gain_text(double ratio, Objective objective) {
  static constexpr std::string_view kBetter[] = {"faster", "cheaper", "less energy", "less memory"};
  const std::string_view better = kBetter[static_cast<std::size_t>(objective)];
  const double percent = 100 * (ratio - 1);
  if (percent < 0.1) return fmt::format("less than 0.1 % {}", better);
  return percent < 1 ? fmt::format("{:.1f} % {}", percent, better) : fmt::format("{:.2f}x {}", ratio, better);
}

std::string equal_text(Objective objective) {
  static constexpr std::string_view kEqual[] = {"is as fast", "is as cheap", "needs as little energy",
                                                "needs as little memory"};
  return fmt::format("the baseline {}", kEqual[static_cast<std::size_t>(objective)]);
}

std::string comparison_text(const Plan& plan) {
  const PlanRow *base = baseline_of_plan(plan), &first = plan.rows.front();
  if (base == &first) return "the experiment as it is; nothing that was found is better";
  if (base == nullptr) return "";
  if (!base->error.empty())
    return base->fits ? "the experiment as it is cannot be predicted" : "the experiment as it is does not fit";
  if (const double behind = base->value > 0 ? first.value / base->value : 0; behind > 1.001)
    return "the experiment as it is, which is not among what was asked for, is better: " +
           gain_text(behind, plan.goal.objective);
  if (base->value <= first.value) return equal_text(plan.goal.objective) + "; nothing that was found is better";
  return gain_text(baseline_ratio(plan, first), plan.goal.objective) + " than the baseline";
}

/// "17.29 J", "2.41 kJ", "0.0365 kWh".
std::string energy_text(double joules) {
  if (joules < 1e3) return fmt::format("{:.4g} J", joules);
  return joules < 3.6e4 ? fmt::format("{:.4g} kJ", joules / 1e3) : fmt::format("{:.4g} kWh", joules / 3.6e6);
}

std::string purchase_text(const Plan& plan, const PlanRow& row) {
  const Purchase& p = plan.purchase;
  const std::string what = p.tokens > 0    ? report::count_text(p.tokens) + " tokens"
                           : p.samples > 0 ? report::count_text(p.samples) + " samples"
                                           : "an iteration";
  std::string out;
  if (p.price_per_gpu_hour > 0)
    out += fmt::format("{}: {:.4g} at {:g} per GPU and hour, ", what, row.cost, p.price_per_gpu_hour);
  return out + (p.price_per_gpu_hour > 0 ? "" : what + ": ") + energy_text(row.energy);
}

/// Lines that end behind a comma, of at most about 90 columns.
std::vector<std::string> wrapped(const std::string& text) {
  constexpr std::size_t kWidth = 90;
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.size();
    if (text.size() - begin > kWidth) {
      const std::size_t comma = text.rfind(", ", begin + kWidth);
      if (comma != std::string::npos && comma > begin) end = comma + 1;
    }
    lines.push_back(text.substr(begin, end - begin));
    begin = end < text.size() && text[end] == ' ' ? end + 1 : end;
  }
  return lines;
}

std::vector<std::string> winner_lines(const Plan& plan, const std::vector<std::size_t>& keys) {
  const PlanRow& row = plan.rows.front();
  const std::string better = comparison_text(plan);
  std::vector<std::string> out{(row.error.empty() ? report::time_text(row.report.iteration) + " per iteration"
                                                  : "nothing was played that fits") +
                               (better.empty() ? "" : ", " + better)};
  std::string layout;
  for (const std::size_t k : keys) {
    const std::string& value = row.values[k];
    if (value.empty() || value == "automatic" || value == "false" || value == "[]" || value == "-" || value == "0")
      continue;
    layout += (layout.empty() ? "" : ", ") + plan.keys[k].substr(plan.keys[k].rfind('.') + 1) + " " +
              printable(short_value(plan.keys[k], value), 200);
  }
  for (std::string& line : wrapped(layout)) out.push_back(std::move(line));
  if (is_by_blocks(row))
    out.push_back("its kernels are counted block by block: " + std::string(kLayerByLayer) + "=false");
  if (row.error.empty() && !row.fits)
    out.push_back(fmt::format("it needs {:.1f} GB of the {:.1f} GB that a GPU has: model.memory_check is false",
                              memory_gb(row.report), 1e-9 * static_cast<double>(row.report.context.memory_capacity)));
  if (row.error.empty()) out.push_back(purchase_text(plan, row));
  return out;
}

std::string counts_text(const Plan& plan) {
  const SearchCounts& c = plan.counts;
  std::string out = "considered " + grouped(c.space.considered);
  const auto add = [&](double n, const char* what) {
    if (n > 0) out += fmt::format(", {} {}", what, grouped(n));
  };
  add(c.space.undivided, "did not divide");
  add(c.unfit, "did not fit");
  add(c.same, "the same as another");
  add(c.not_priced, "not predicted");
  add(c.pruned, "pruned by bounds");
  add(c.played, "played");
  if (c.left > 0) {
    out += ", not reached " + grouped(c.left) + ": ";
    const double best = plan.rows.empty() ? 0 : plan.rows.front().value;
    out += plan.played_all || c.least_left <= 0 || best <= 0
               ? "there is no bound on what they could gain"
               : fmt::format("they are at most {:.2f} % better", 100 * std::max(0.0, 1 - c.least_left / best));
  } else if (!plan.played_all && c.above_bound == 0) {
    out += "; no other layout of the space is better";
  }
  if (c.above_bound > 0)
    out += fmt::format(
        "\n{} played in less than the least that bounds state, so that a better one may have been pruned: "
        "--exhaustive plays all",
        grouped(c.above_bound));
  if (plan.goal.second)
    out += fmt::format("\nnothing that was played is as good as one of these rows in both {} and {}",
                       name_of(plan.goal.objective), name_of(*plan.goal.second));
  return out + "\n";
}

std::string rank_text(const BaselineRank& rank) {
  if (rank.drawn == 0) return "";
  return fmt::format("of {} drawn at random that fit, {} {} faster than the baseline\n", counted(rank.drawn, "layout"),
                     rank.faster, agreeing(rank.faster, "is", "are"));
}

std::vector<std::string> table_cells(const Plan& plan, const std::vector<std::size_t>& keys, std::size_t i) {
  const PlanRow& row = plan.rows[i];
  std::vector<std::string> cells{row.kind == PlanRowKind::candidate ? std::to_string(i + 1) : "baseline"};
  const report::TimeScale scale = report::time_scale(plan.rows.front().report.iteration);
  const bool ok = row.error.empty();
  cells.push_back(ok ? scale.text(row.report.iteration) : "-");
  for (const std::size_t k : keys) cells.push_back(printable(short_value(plan.keys[k], row.values[k]), 60));
  const bool tokens = plan.rows.front().report.context.tokens_per_sample > 0;
  cells.push_back(!ok ? "-" : fixed_or_digits(tokens ? tokens_per_gpu(row.report) : row.report.samples_per_second, 0));
  cells.push_back(ok ? fmt::format("{:.1f}", 100 * row.report.mfu) : "-");
  cells.push_back(ok ? fmt::format("{:.1f}", memory_gb(row.report)) + (row.fits ? "" : " (too much)") : "-");
  if (plan.purchase.price_per_gpu_hour > 0) cells.push_back(ok ? fmt::format("{:.4g}", row.cost) : "-");
  cells.push_back(ok ? row.why_slower : row.fits ? printable(row.error, 200) : "memory");
  return cells;
}

nlohmann::json json_of_row(const Plan& plan, const PlanRow& row) {
  nlohmann::json keys = nlohmann::json::object();
  for (std::size_t k = 0; k < plan.keys.size(); ++k) keys[plan.keys[k]] = row.values[k];
  nlohmann::json out{{"keys", std::move(keys)},
                     {"baseline", row.kind != PlanRowKind::candidate},
                     {"fits", row.fits},
                     {"error", row.error}};
  if (!row.error.empty()) return out;
  const Report& r = row.report;
  out["iteration_ms"] = r.iteration.ms();
  out["low_ms"] = r.low.ms();
  out["high_ms"] = r.high.ms();
  out["samples_per_s"] = r.samples_per_second;
  out["tokens_per_s_per_gpu"] = tokens_per_gpu(r);
  out["mfu"] = r.mfu;
  out["exposed_comm_ms"] = r.exposed_comm.ms();
  out["memory_gb"] = memory_gb(r);
  out["limited_by"] = limiter_of(row);
  out["why_slower"] = row.why_slower;
  out["cost"] = row.cost;
  out["energy_joules"] = row.energy;
  out["set"] = row.sets;
  return out;
}

}  // namespace

std::vector<std::size_t> shown_keys(const Plan& plan) {
  static constexpr std::string_view kUnset[] = {"1",  "0",    "false", "automatic",     "ring",
                                                "[]", "none", "-",     "tp-cp-ep-dp-pp"};
  std::vector<std::size_t> out;
  for (std::size_t k = 0; k < plan.keys.size(); ++k) {
    const std::string& first = plan.rows.front().values[k];
    const bool set = std::ranges::find(kUnset, first) == std::end(kUnset);
    const bool differs = std::ranges::any_of(plan.rows, [&](const PlanRow& r) { return r.values[k] != first; });
    if (set || differs) out.push_back(k);
  }
  return out;
}

std::vector<std::string> plan_summary(const Plan& plan) {
  std::vector<std::string> out = winner_lines(plan, shown_keys(plan));
  out.push_back("objective: " + objective_text(plan.goal));
  for (const std::string& text : {counts_text(plan), rank_text(plan.rank)}) {
    if (!text.empty()) out.push_back(text.substr(0, text.find('\n')));
  }
  return out;
}

std::string plan_csv(const Plan& plan) {
  std::vector<std::string> header = plan.keys;
  for (const PlanColumn& column : plan_columns()) header.emplace_back(column.name);
  for (const char* name :
       {"fits", "limited_by", "error", "why_slower", "cost", "energy_joules", "objective", "baseline"})
    header.emplace_back(name);
  std::string out = csv_line(header);
  for (const PlanRow& row : plan.rows) {
    const bool ok = row.error.empty();
    std::vector<std::string> cells = row.values;
    for (const PlanColumn& column : plan_columns()) cells.push_back(ok ? column.cell(row) : "");
    cells.insert(cells.end(), {row.fits ? "true" : "false", limiter_of(row), row.error, row.why_slower,
                               ok ? fmt::format("{:.6g}", row.cost) : "", ok ? fmt::format("{:.6g}", row.energy) : "",
                               objective_text(plan.goal), kind_word(row.kind)});
    out += csv_line(cells);
  }
  return out;
}

std::string plan_text(const Plan& plan) {
  const std::vector<std::size_t> keys = shown_keys(plan);
  std::string out = printable(plan.subject, 200) + "\n" + frame(winner_lines(plan, keys)) + "\n";
  const bool tokens = plan.rows.front().report.context.tokens_per_sample > 0;
  std::vector<std::vector<std::string>> table{{"", report::time_scale(plan.rows.front().report.iteration).unit}};
  for (const std::size_t k : keys) table.front().push_back(plan.heads[k]);
  for (const char* head : {tokens ? "tok/s/GPU" : "samples/s", "MFU %", "GB"}) table.front().emplace_back(head);
  if (plan.purchase.price_per_gpu_hour > 0) table.front().emplace_back("cost");
  table.front().emplace_back("slower by, most");
  for (std::size_t i = 0; i < plan.rows.size(); ++i) table.push_back(table_cells(plan, keys, i));
  return out + aligned_table(table, 0) + "\n" + counts_text(plan) + rank_text(plan.rank);
}

std::string plan_json(const Plan& plan) {
  nlohmann::json rows = nlohmann::json::array();
  for (const PlanRow& row : plan.rows) rows.push_back(json_of_row(plan, row));
  const SearchCounts& c = plan.counts;
  return json_text(nlohmann::json{{"schema_version", 1},
                                  {"subject", plan.subject},
                                  {"objective", objective_text(plan.goal)},
                                  {"counts",
                                   {{"considered", c.space.considered},
                                    {"did_not_divide", c.space.undivided},
                                    {"did_not_fit", c.unfit},
                                    {"same_as_another", c.same},
                                    {"not_predicted", c.not_priced},
                                    {"pruned", c.pruned},
                                    {"played", c.played},
                                    {"not_reached", c.left},
                                    {"below_their_bound", c.above_bound}}},
                                  {"drawn", {{"layouts", plan.rank.drawn}, {"faster_than_baseline", plan.rank.faster}}},
                                  {"rows", std::move(rows)}},
                   2) +
         "\n";
}

}  // namespace distsim::study
