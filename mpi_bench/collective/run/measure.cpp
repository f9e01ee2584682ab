#include "mpi_bench/collective/run/measure.hpp"

#include "mpi_bench/collective/verify.hpp"

namespace distsim::bench {
namespace {

/// A failure in the middle of a collective cannot be agreed on: the other ranks are waiting inside it.
template <class T>
T must(const Ranks& ranks, Result<T> result) {
  if (!result.ok()) ranks.abort(result.error().text());
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

std::string fault_text(const Call& call, int rank, const Check& check) {
  const std::size_t e = info_of(call.type).size;
  return std::string(call.what->name) + " of " + std::to_string(call.layout->bytes) + " bytes, " + (call.in_place ? "in-place" : "out-of-place") +
         ": rank " + std::to_string(rank) + ", element " + std::to_string(check.first_element) + " (byte " + std::to_string(check.first_element * e) +
         " of the receive buffer): found " + check.found + ", expected " + check.expected + "; " + std::to_string(check.wrong) +
         " wrong on this rank";
}

/// Number of wrong elements over all ranks; the first rank's fault goes to `fault`.
std::uint64_t verify(Backend& backend, const Ranks& ranks, const Options& options, const Call& call, std::optional<std::string>& fault) {
  must(ranks, fill_buffers(backend, call));
  ranks.barrier();
  must(ranks, backend.run(call));
  if (options.fault && options.fault->first == ranks.rank()) must(ranks, damage_element(backend, call, options.fault->second));
  const Check check = must(ranks, check_buffers(backend, call));
  const std::uint64_t wrong = ranks.sum(check.wrong);
  if (wrong == 0 || fault) return wrong;
  for (const std::string& text : ranks.gather(check.wrong > 0 ? fault_text(call, ranks.rank(), check) : "")) {
    if (!text.empty() && !fault) fault = text;
  }
  return wrong;
}

Measured timed(Backend& backend, const Ranks& ranks, const Options& options, const Call& call) {
  must(ranks, fill_buffers(backend, call));
  if (options.warmup > 0) must(ranks, backend.time(call, options.warmup));
  ranks.barrier();
  const LoopTimes times = must(ranks, backend.time(call, options.iterations));
  Measured m = measured_from(call.layout->bytes, ranks.report(times.mean_s, options.report), call.what->bus_factor(call.shape.ranks));
  std::vector<double> slowest = ranks.max(times.each_s);
  for (double& seconds : slowest) seconds *= 1e6;
  m.iterations = summarize(std::move(slowest));
  return m;
}

Result<void> prepare(Backend& backend, const Ranks& ranks, const Call& call) {
  TRY(ranks.agree(backend.fits(call)));
  const std::size_t e = info_of(call.type).size;
  const Layout& l = *call.layout;
  return ranks.agree(backend.allocate(l.send_count * e, std::max(l.recv_count, l.in_place_count()) * e));
}

Row empty_row(const Sweep& sweep, const Layout& layout) {
  return {.bytes = layout.bytes, .count = layout.count, .type = std::string(info_of(sweep.type).name),
          .redop = std::string(sweep.what->reduces ? name_of(sweep.op) : "none"), .root = sweep.what->rooted ? sweep.root : -1};
}

}  // namespace

Result<MeasuredRow> measure_row(Backend& backend, const Ranks& ranks, const Options& options, const Sweep& sweep, std::uint64_t size_bytes) {
  const Shape shape{.ranks = ranks.size(), .rank = ranks.rank(), .root = sweep.root, .imbalance = options.imbalance};
  const Layout layout = layout_of(*sweep.what, size_bytes, info_of(sweep.type).size, shape);
  MeasuredRow result{.row = empty_row(sweep, layout)};
  for (const bool in_place : {false, true}) {
    const InPlace how = backend.in_place(sweep.what->kind);
    if (in_place && how == InPlace::unsupported) continue;
    const Call call{.what = sweep.what, .type = sweep.type, .op = sweep.op, .shape = shape, .layout = &layout, .in_place = in_place};
    TRY(prepare(backend, ranks, call));
    Measured measured = timed(backend, ranks, options, call);
    if (options.check && !(in_place && how == InPlace::timed_only)) measured.wrong = verify(backend, ranks, options, call, result.fault);
    (in_place ? result.row.in_place : result.row.out_of_place) = std::move(measured);
  }
  return result;
}

}  // namespace distsim::bench
