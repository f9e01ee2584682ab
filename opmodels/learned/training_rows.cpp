#include "opmodels/learned/training_rows.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <ostream>

#include "base/fnv.hpp"
#include "base/text/quantity_text.hpp"
#include "opmodels/measured/models_at_clocks.hpp"
#include "opmodels/measured/possible_times.hpp"
#include "opmodels/measured/row_statements.hpp"
#include "opmodels/registry.hpp"

namespace distsim::opmodels {
namespace {

void append_number(std::string& line, double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 9);
  line += ',';
  line.append(text, end.ptr);
}

std::string header_line(LearnedKernel kernel) {
  std::string line = "kernel,gpu,op,pass,dtype,timing,held_back,hbm_GBps,floor_us,measured,launch,tail,other,seconds";
  for (const std::string_view name : feature_names(kernel)) (line += ',') += name;
  return line + '\n';
}

/// One kernel of a row: what it shares the measured time with, and how much of that time is taken to be its own.
struct Prepared {
  KernelSample sample;
  double other = 0;  ///< seconds of the row's kernels of other kinds, as priced (the casts of an fp8 linear)
  double share = 1;  ///< of the rest, where a row is several kernels of one kind: by their analytic times
};

std::vector<Prepared> prepare(const OpModels& models, const OpRow& row, LearnedKernel kernel) {
  std::vector<Prepared> own;
  double other = 0, analytic = 0;
  for (const graph::Op& op : row.ops) {
    const auto cost = models.price(op, row.warm);
    if (!cost.ok()) return {};
    const auto sample = sample_of(models.rates(row.warm), op);
    const bool learns = sample && sample->kernel == kernel && op.index() == row.ops.front().index();
    if (learns) own.push_back({*sample});
    (learns ? analytic : other) += learns ? sample->seconds : cost->mean.seconds();
  }
  for (Prepared& one : own) {
    one.other = other;
    one.share = one.sample.seconds / analytic;
  }
  return own;
}

/// Seconds of all kernels of a row, as priced.
double priced_of(const std::vector<Prepared>& prepared) {
  double seconds = prepared.front().other;
  for (const Prepared& one : prepared) seconds += one.sample.seconds;
  return seconds;
}

class Writer {
 public:
  Writer(const OpColumns& columns, std::size_t latency, const RowStatements& statements, LearnedKernel kernel,
         const DeviceLookup& lookup)
      : columns_(columns), latency_(latency), statements_(statements), kernel_(kernel), lookup_(lookup) {}

  /// A line for each kernel; empty where the row is left out, and `count` says why.
  std::string lines(const std::vector<std::string>& row, const std::string& position, TrainingCount& count) {
    const OpFields fields(columns_, row);
    const auto problem = [&](std::size_t& counter, const Error& error) {
      ++counter;
      if (count.first_problem.empty()) count.first_problem = position + ": " + error.text();
      return std::string();
    };
    auto models = lookup_(fields.text("gpu"));
    if (!models.ok()) return problem(count.unpriced, models.error());
    const auto parsed = op_from_row(columns_, row);
    if (!parsed.ok()) return problem(count.unpriced, parsed.error());
    const auto time = latency_of(row[latency_]);
    if (!time.ok()) return problem(count.unpriced, time.error());
    const double measured = *time;
    if (const auto credible = statements_.check(row, measured); !credible.ok())
      return problem(count.unpriced, credible.error());
    const auto clock = statements_.clock(row);
    if (!clock.ok()) return problem(count.unpriced, clock.error());
    if (const auto possible = check_clock((*models)->device(), *clock); !possible.ok())
      return problem(count.unpriced, possible.error());
    ModelsAtClocks& clocks = clocks_.try_emplace(*models, **models).first->second;
    const bool is_low = clocks.is_low(*clock);
    models = clocks.of_row(*clock);
    if (!models.ok()) return problem(count.unpriced, models.error());
    const std::vector<Prepared> prepared = prepare(**models, *parsed, kernel_);
    if (prepared.empty()) {
      ++count.other_kernel;
      return "";
    }
    const double launch = host_share(parsed->timing, parsed->call, fields.text("gpu"), parsed->calls).launch;
    const double kernels = measured * 1e-6 - launch;
    const auto cost = (*models)->price(parsed->ops.front(), parsed->warm);
    if (const auto possible = check_possible((*models)->device(), *parsed, fields.text("dtype"),
                                             least_time((*models)->rates(parsed->warm), parsed->ops.front(), *cost),
                                             kernels, launch, *clock);
        kernels > 0 && !possible.ok())
      return problem(count.impossible, possible.error());
    if (kernels <= prepared.front().other)
      return problem(count.hidden, {"latency_us: found " + format_quantity(measured * 1e-6, Dimension::seconds) +
                                        ", expected more than the " +
                                        format_quantity(launch + prepared.front().other, Dimension::seconds) +
                                        " of the launch and the kernels that come with the op",
                                    "", ""});
    if (kernels > kOpTimesTooLong * priced_of(prepared) && ++count.too_long == 1)
      count.first_too_long = position + ": " + too_long_text(kernels, priced_of(prepared));
    if (is_low && ++count.at_low_clock == 1)
      count.first_low_clock = position + ": sm_clock_mhz: found " +
                              format_quantity(clock->value() * 1e-6, Dimension::none) + " MHz, where " +
                              (*models)->device().name + " holds " +
                              format_quantity(clocks.usual().value() * 1e-6, Dimension::none) + " MHz at free clocks";
    std::string lines;
    for (const Prepared& one : prepared) lines += text(fields, *parsed, one, measured, (*models)->rates(parsed->warm));
    return lines;
  }

 private:
  std::string text(const OpFields& fields, const OpRow& row, const Prepared& p, double measured,
                   const DeviceRates& rates) const {
    std::string line(name_of(kernel_));
    for (const std::string_view column : {"gpu", "op", "pass", "dtype", "timing"}) {
      line += ',' + csv_field(fields.text(column));
    }
    line += is_held_back(shape_text(fields)) ? ",1" : ",0";
    append_number(line, rates.hbm * 1e-9);
    append_number(line, rates.floor * 1e6);
    const HostShare host = host_share(row.timing, row.call, fields.text("gpu"), row.calls);
    append_number(line, measured * p.share);
    for (const double seconds : {host.launch * p.share, host.tail * p.share, p.other * p.share, p.sample.seconds})
      append_number(line, seconds * 1e6);
    for (std::uint32_t i = 0; i < p.sample.features.count; ++i)
      append_number(line, static_cast<double>(p.sample.features.values[i]));
    return line + '\n';
  }

  const OpColumns& columns_;
  std::size_t latency_;
  const RowStatements& statements_;
  LearnedKernel kernel_;
  const DeviceLookup& lookup_;
  std::map<const OpModels*, ModelsAtClocks> clocks_;  ///< of the devices that `lookup_` has found
};

}  // namespace

bool is_held_back(std::string_view shape) {
  return (fnv32(shape) >> 8) % 10 == 0;  // the low bits of FNV-1a follow the last characters
}

Result<TrainingCount> training_rows(std::istream& in, const std::string& name, std::ostream& out, LearnedKernel kernel,
                                    const DeviceLookup& lookup) {
  TRY_ASSIGN(CsvReader reader, CsvReader::open(in, name));
  TRY_ASSIGN(const OpColumns columns, OpColumns::from(reader));
  TRY_ASSIGN(const std::size_t latency, require_latency(reader));
  const RowStatements statements(reader);
  Writer writer(columns, latency, statements, kernel, lookup);
  TrainingCount count;
  count.unused = columns.unused();
  for (;;) {
    TRY_ASSIGN(const auto fields, reader.next());
    if (!fields) break;
    const std::string line = writer.lines(*fields, reader.position(), count);
    ++count.rows;
    if (line.empty()) continue;
    if (count.kept++ == 0) out << header_line(kernel);
    out << line;
  }
  if (2 * count.too_long > count.kept) return most_too_long(count.first_too_long, count.too_long, count.kept);
  if (count.kept > 0) return count;
  return Error{"found no usable row among " + std::to_string(count.rows) +
                   ", expected at least one of a known gpu, with an op of " + std::string(name_of(kernel)) +
                   " and a time" + (count.first_problem.empty() ? "" : "; " + count.first_problem),
               name, ""};
}

}  // namespace distsim::opmodels
