// op_bench: measures the latency of ops on one GPU over a grid of shapes. Exit codes: 0 done, 1 a library failed, 2
// refused (no GPU, bad flags, unwritable files), 3 the system refused what the program asked of it, 130 interrupted.
#include <cstdio>
#include <ctime>
#include <map>

#include "base/file.hpp"
#include "base/output.hpp"
#include "base/system/program.hpp"
#include "base/system/signals.hpp"
#include "mpi_bench/common/progress.hpp"
#include "mpi_bench/op/op_options.hpp"
#include "mpi_bench/op/result_file.hpp"
#include "mpi_bench/op/run/device.hpp"
#include "mpi_bench/op/run/timer.hpp"

namespace distsim::bench {
namespace {

constexpr int kInterruptedExit = 130;

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

using Files = std::map<std::string, ResultFile>;

Result<Files> open_files(const std::vector<OpCase>& cases, const std::string& folder) {
  Files files;
  for (const OpCase& c : cases) {
    const std::string family = family_of(c);
    if (files.contains(family)) continue;
    TRY_ASSIGN(ResultFile file, ResultFile::open(folder + "/" + family + ".csv", family));
    files.emplace(family, std::move(file));
  }
  return files;
}

struct Counts {
  std::size_t measured = 0, there = 0, too_large = 0, not_here = 0, failed = 0, noisy = 0;
};

/// What a whole run needs, opened once.
struct Bench {
  DeviceInfo device;
  std::unique_ptr<OpLibraries> libraries;
  OpTimer timer;
  RunFacts facts;
};

Result<Bench> open_bench(const OpBenchOptions& o) {
  TRY_ASSIGN(DeviceInfo device, open_device(o.device));
  TRY_ASSIGN(std::unique_ptr<OpLibraries> libraries, OpLibraries::create());
  TRY_ASSIGN(OpTimer timer, OpTimer::create(o.flush_l2, device.l2_bytes));
  TRY(libraries->bind(timer.stream()));
  RunFacts facts{o.gpu.empty() ? device.name : o.gpu, timing_name(o.flush_l2), device.framework, today()};
  return Bench{std::move(device), std::move(libraries), std::move(timer), std::move(facts)};
}

Result<OpResult> measure(Bench& bench, const DeviceMonitor& monitor, const OpCase& c, const RepetitionLimits& limits) {
  TRY_ASSIGN(auto op, prepare_op(c, *bench.libraries, bench.timer.stream()));
  TRY_ASSIGN(const TimedOp timed, bench.timer.time(*op, limits));
  const Summary& s = timed.repetitions.seconds;
  return OpResult{s.median * 1e6, s.p5 * 1e6,
                  s.p95 * 1e6,    static_cast<int>(s.count),
                  timed.launches, timed.repetitions.relative_error,
                  monitor.read()};
}

bool fits(const OpCase& c, const Bench& bench) {
  constexpr double kUsable = 0.85;  // the rest is the context's and the libraries'
  return operand_bytes(c) <= kUsable * static_cast<double>(bench.device.memory_bytes);
}

Result<Counts> measure_all(Bench& bench, Files& files, const std::vector<OpCase>& cases, const OpBenchOptions& o) {
  const DeviceMonitor monitor(o.device);
  Progress progress(true);
  Counts counts;
  for (std::size_t i = 0; i < cases.size() && !end_asked(); ++i) {
    const OpCase& c = cases[i];
    ResultFile& file = files.at(family_of(c));
    if (file.contains(bench.facts, c)) {
      ++counts.there;
    } else if (!measurable(c, bench.device.capability, bench.device.devices).ok()) {
      ++counts.not_here;
    } else if (!fits(c, bench)) {
      ++counts.too_large;
    } else {
      progress.show(static_cast<double>(i) / static_cast<double>(cases.size()), describe(c));
      auto result = measure(bench, monitor, c, o.limits);
      if (!result.ok()) {  // a shape that a library has no kernel for costs that shape; a device that has failed costs
                           // the run
        if (cudaDeviceSynchronize() != cudaSuccess) return Error{result.error().text(), describe(c), ""};
        (void)cudaGetLastError();
        progress.clear();
        std::fprintf(stderr, "op_bench: left out: %s: %s\n", describe(c).c_str(), result.error().text().c_str());
        ++counts.failed;
        continue;
      }
      if (result->relative_error > o.limits.relative_error) ++counts.noisy;
      TRY(file.append(bench.facts, c, *result));
      ++counts.measured;
    }
  }
  return counts;
}

int refuse(const Error& error, int code) {
  std::fprintf(stderr, "op_bench: %s\n", error.text().c_str());
  return code;
}

/// The exit code.
int printed(const std::string& text) {
  const Result<void> end = print(text);
  return end.ok() ? 0 : refuse(end.error(), 2);
}

int run(const OpBenchOptions& o) {
  const auto cases = build_grid(o.ops, o.dtypes, o.grid);
  if (!cases.ok()) return refuse(cases.error(), 2);
  if (o.list) {
    return printed(list_text(*cases));
  }
  auto bench = open_bench(o);
  if (!bench.ok()) return refuse(bench.error(), 2);
  auto files = open_files(*cases, o.out);
  if (!files.ok()) return refuse(files.error(), 2);
  const auto counts = measure_all(*bench, *files, *cases, o);
  if (!counts.ok()) return refuse(counts.error(), 1);
  std::printf(
      "op_bench: %zu measured (%zu of them above the requested relative error), %zu already done, %zu too large for this GPU, "
      "%zu not supported by this GPU or build, %zu not supported by a library%s\n",
      counts->measured, counts->noisy, counts->there, counts->too_large, counts->not_here, counts->failed,
      end_asked() ? ", interrupted" : "");
  const Result<void> end = check_printed();
  if (!end.ok()) return refuse(end.error(), 2);
  return end_asked() ? kInterruptedExit : 0;
}

int run_op_bench(int argc, char** argv) {
  const auto command = parse_op_bench(argc, argv);
  if (!command.ok()) return refuse(command.error(), 2);
  if (command->print) {
    return printed(*command->print);
  }
  for (const std::string& remark : command->remarks) std::fprintf(stderr, "op_bench: %s\n", remark.c_str());
  const EarlyEnd early;
  return run(command->options);
}

}  // namespace
}  // namespace distsim::bench

int main(int argc, char** argv) {
  return distsim::run_program({"op_bench", "use smaller shapes"},
                              [&] { return distsim::bench::run_op_bench(argc, argv); });
}
