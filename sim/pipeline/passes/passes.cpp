#include "sim/pipeline/passes/passes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "base/threads/stop.hpp"

namespace distsim::pipeline {
namespace {

std::string timing_line(std::string_view name, double ms, std::uint32_t runs = 1) {
  return fmt::format("{:<16} {:>9.3f} ms{}\n", name, ms, runs > 1 ? fmt::format("  ({} runs)", runs) : "");
}

}  // namespace

std::vector<std::string> dumpable_passes() {
  std::vector<std::string> names;
  for (const PassInfo& pass : kPasses) {
    if (pass.name != kWritePass) names.emplace_back(pass.name);
  }
  return names;
}

std::string passes_as_markdown() {
  std::string out = "| pass | result | what it does |\n|---|---|---|\n";
  for (const PassInfo& pass : kPasses)
    out += fmt::format("| `{}` | {} | {} |\n", pass.name, pass.result, pass.sentence);
  return out;
}

void Passes::require(PassName name, const Result<void>& invariants) {
  CHECK(invariants.ok()) << "after " << name.text() << ": " << invariants.error().text();
}

void Passes::log_size(PassName name, const std::string& size) {
  if (!size.empty()) log_debug([&] { return fmt::format("{}: {}", name.text(), size); });
}

void Passes::record(PassName name, Clock::time_point begin, Clock::time_point end) {
  log_debug([&] { return fmt::format("{}: {:.3f} ms", name.text(), Milliseconds(end - begin).count()); });
  if (times_.empty()) begin_ = begin;
  end_ = end;
  const auto comes_later = [&](const Time& t) { return pass_index(t.name) >= name.index(); };
  auto at = std::find_if(times_.begin(), times_.end(), comes_later);
  if (at == times_.end() || at->name != name.text()) at = times_.insert(at, {std::string(name.text()), 0, 0});
  at->ms += Milliseconds(end - begin).count();
  ++at->runs;
  end_if_stopped();
}

std::string Passes::timings_text() const {
  std::string out;
  double sum = 0;
  for (const Time& t : times_) {
    out += timing_line(t.name, t.ms, t.runs);
    sum += t.ms;
  }
  return out + timing_line("between passes", total_ms() - sum) + timing_line("total", total_ms());
}

}  // namespace distsim::pipeline
