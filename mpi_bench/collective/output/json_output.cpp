#include "mpi_bench/collective/output/json_output.hpp"

#include "base/json/json.hpp"

namespace distsim::bench {
namespace {

using Json = nlohmann::ordered_json;

Json iterations_json(const Summary& s) {
  return {{"count", s.count}, {"median_us", s.median}, {"mad_us", s.mad}, {"p5_us", s.p5},  {"p10_us", s.p10},
          {"p90_us", s.p90},  {"p95_us", s.p95},       {"min_us", s.min}, {"max_us", s.max}};
}

Json ranks_json(const RankSpread& r) {
  return {{"count", r.medians.count}, {"min_us", r.medians.min}, {"median_us", r.medians.median},
          {"max_us", r.medians.max},  {"mad_us", r.medians.mad}, {"p5_us", r.medians.p5},
          {"p95_us", r.medians.p95},  {"slowest", r.slowest},    {"arrival_skew_us", r.arrival_us}};
}

Json half_json(const std::optional<Measured>& m) {
  if (!m) return nullptr;
  return {{"time_us", m->time_us},
          {"algbw", m->algbw},
          {"busbw", m->busbw},
          {"wrong", m->wrong ? Json(*m->wrong) : Json(nullptr)},
          {"iterations", iterations_json(m->iterations)},
          {"calls_each", m->calls_each},
          {"noisy", m->noisy},
          {"ranks", ranks_json(m->ranks)}};
}

Json row_json(const Row& row) {
  return {{"size", row.bytes},
          {"count", row.count},
          {"type", row.type},
          {"redop", row.redop},
          {"root", row.root},
          {"out_of_place", half_json(row.out_of_place)},
          {"in_place", half_json(row.in_place)}};
}

}  // namespace

std::string json_text(const std::vector<FinishedTable>& tables, const JsonRun& run, bool partial) {
  Json document = {{"version", 1},           {"partial", partial},     {"ranks", run.ranks},
                   {"nodes", run.nodes},     {"backend", run.backend}, {"device", run.device},
                   {"nThread", run.threads}, {"nGpus", run.gpus},      {"graph", run.cuda_graph},
                   {"date", run.date},       {"tables", Json::array()}};
  for (const FinishedTable& table : tables) {
    Json rows = Json::array();
    for (const Row& row : table.rows) rows.push_back(row_json(row));
    document["tables"].push_back({{"collective", table.collective},
                                  {"group", table.group},
                                  {"ranks", table.ranks},
                                  {"nodes", table.nodes},
                                  {"groups_at_once", table.groups_at_once},
                                  {"not_used", table.not_used},
                                  {"settings", table.settings},
                                  {"avg_busbw", average_bus_bandwidth(table.rows)},
                                  {"rows", std::move(rows)}});
  }
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";  // names may be in any encoding
}

}  // namespace distsim::bench
