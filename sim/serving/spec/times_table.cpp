#include "sim/serving/spec/times_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>

#include "base/system/inputs/open_input.hpp"
#include "base/text/counted.hpp"
#include "base/text/csv.hpp"
#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"

namespace distsim::serving {
namespace {

constexpr double kPsPerUs = 1e6;
/// More requests at once are more work. Libraries choose other kernels for them, so that a batch may take less than a smaller
/// one all the same (AlexNet on a GTX 1080 Ti: 0.56 of it, configs/serving/layer_times.csv), but hardly less than half. Chosen.
constexpr double kLeastOfSmallerBatch = 0.5;
/// Nor do they take more than so many times the time that they would one after the other. Chosen.
constexpr double kMostOfOneByOne = 4;

}  // namespace

Result<void> TimesTable::check_layer(const std::string& model, const std::string& layer, const std::string& where,
                                     Block& block) {
  const std::size_t index = block.ps.size();
  const auto number = exact_integer(std::string_view(layer));  // a label: 01 .. 12 are in order, too
  if (number && *number <= block.last_number)
    return Error{"layer: found " + in_quotes(layer) + " after " + std::to_string(block.last_number) +
                     ", expected layers with numbers in ascending order, each once",
                 where, ""};
  if (number) block.last_number = *number;
  const auto [first, is_new] = block.names.try_emplace(layer, where);
  if (!is_new)
    return Error{"layer: found " + in_quotes(layer) + " of " + printable(model, 80) +
                     " twice, expected each layer once; " + "first at " + first->second,
                 where, "layers of one kind are told apart by a number, as in conv.1 and conv.2"};
  auto& known = layers_[model];
  if (index == known.size()) known.emplace_back(layer, where);
  if (known[index].first == layer) return {};
  return Error{"layer: found " + in_quotes(layer) + " as layer " + std::to_string(index + 1) + " of " +
                   printable(model, 80) + ", expected " + in_quotes(known[index].first) + " as at " +
                   known[index].second,
               where, ""};
}

Result<void> TimesTable::read(const std::string& path) {
  TRY_ASSIGN(const auto in, open_input_stream(path));
  TRY_ASSIGN(CsvReader csv, CsvReader::open(*in, path));
  TRY_ASSIGN(const std::size_t model, csv.require("model"));
  TRY_ASSIGN(const std::size_t gpu, csv.require("gpu"));
  TRY_ASSIGN(const std::size_t batch, csv.require("batch"));
  TRY_ASSIGN(const std::size_t layer, csv.require("layer"));
  TRY_ASSIGN(const std::size_t time, csv.require("time_us"));
  for (std::size_t i = 0; i < csv.header().size(); ++i) {
    if (i != model && i != gpu && i != batch && i != layer && i != time)
      unused_.push_back(printable(path, 200) + ": column " + in_quotes(csv.header()[i], 40) + ": no effect");
  }
  for (;;) {
    TRY_ASSIGN(const auto row, csv.next());
    if (!row) return check_some_time(path);
    const auto size = parse_integer((*row)[batch]);
    if (!size.ok() || *size < 1 || *size > 4096)
      return Error{"batch: found " + in_quotes((*row)[batch]) + ", expected an integer from 1 to 4096", csv.position(),
                   number_hint((*row)[batch])};
    const auto us = parse_quantity((*row)[time], Dimension::none);
    if (!us.ok() || *us < 0 || *us > 1e10)
      return Error{"time_us: found " + in_quotes((*row)[time]) + ", expected microseconds from 0 to 1e10",
                   csv.position(), number_hint((*row)[time])};
    Block& block = rows_[{(*row)[model], (*row)[gpu]}][static_cast<std::uint32_t>(*size)];
    if (block.ps.empty()) block.file = path;
    if (block.file != path)
      return Error{"found times of " + printable((*row)[model], 80) + " on " + printable((*row)[gpu], 80) +
                       " at batch " + std::to_string(*size) + ", expected them in one file: " + block.file +
                       " has them, too",
                   csv.position(), ""};
    TRY(check_layer((*row)[model], (*row)[layer], csv.position(), block));
    block.ps.push_back(*us * kPsPerUs);
  }
}

Result<void> TimesTable::check_some_time(const std::string& path) const {
  for (const auto& [key, batches] : rows_) {
    std::size_t here = 0;
    const bool some = std::ranges::any_of(batches, [&](const auto& entry) {
      here += entry.second.file == path ? entry.second.ps.size() : 0;
      return std::ranges::any_of(entry.second.ps, [](double ps) { return ps > 0; });
    });
    if (here > 0 && !some)
      return Error{"time_us: found 0 in " + std::string(here == 1 ? "the one row" : "all " + counted(here, "row")) +
                       " of " + printable(key.first, 80) + " on " + printable(key.second, 80) +
                       ", expected some time above 0",
                   path, ""};
  }
  return {};
}

std::uint32_t TimesTable::largest_batch(const std::string& model, const std::string& gpu) const {
  return rows_.at({model, gpu}).rbegin()->first;
}

Result<std::vector<double>> TimesTable::layers(const std::string& model, const std::string& gpu,
                                               std::uint32_t batch) const {
  const auto found = rows_.find({model, gpu});
  if (found == rows_.end()) return Error{"no times of " + model + " on " + gpu, "", ""};
  const Batches& batches = found->second;
  const auto above = batches.lower_bound(batch);
  if (above == batches.end())
    return Error{"found times of " + model + " on " + gpu + " up to batch " + std::to_string(batches.rbegin()->first) +
                     ", expected batch " + std::to_string(batch),
                 "", ""};
  if (above->first == batch) return above->second.ps;
  if (above == batches.begin())
    return Error{"found times of " + model + " on " + gpu + " from batch " + std::to_string(above->first) +
                     " on, expected batch " + std::to_string(batch),
                 "", ""};
  const auto below = std::prev(above);
  const std::vector<double>&from = below->second.ps, &to = above->second.ps;
  if (from.size() != to.size())
    return Error{"found " + counted(from.size(), "layer") + " of " + model + " on " + gpu + " at batch " +
                     std::to_string(below->first) + " and " + std::to_string(to.size()) + " at batch " +
                     std::to_string(above->first) + ", expected the same layers",
                 "", ""};
  const double share = static_cast<double>(batch - below->first) / static_cast<double>(above->first - below->first);
  std::vector<double> times = from;
  for (std::size_t i = 0; i < times.size(); ++i) times[i] += share * (to[i] - times[i]);
  return times;
}

std::vector<std::string> TimesTable::notes() const {
  constexpr double kShortestKernel = 0.2 * kPsPerUs;  // an access to memory alone takes so long
  std::vector<std::string> out = unused_;
  for (const auto& [key, batches] : rows_) {
    double before = 0;
    std::uint32_t smaller = 0, odd = 0;
    std::string first;
    std::size_t rows = 0, too_short = 0;
    for (const auto& [batch, block] : batches) {
      rows += block.ps.size();
      too_short +=
          static_cast<std::size_t>(std::ranges::count_if(block.ps, [&](double ps) { return ps < kShortestKernel; }));
      const double all = std::accumulate(block.ps.begin(), block.ps.end(), 0.0);
      const bool less = all < kLeastOfSmallerBatch * before;
      const bool more = smaller > 0 && all > kMostOfOneByOne * before * batch / smaller;
      if ((less || more) && odd++ == 0)
        first = fmt::format("batch {} takes {:.6g} us, {} batch {} with {:.6g} us", batch, all / kPsPerUs,
                            less ? "less than" : "more than its requests in parts of", smaller, before / kPsPerUs);
      before = all, smaller = batch;
    }
    if (too_short > 0)
      out.push_back(batches.begin()->second.file + ": time_us: found " + std::to_string(too_short) + " of " +
                    counted(rows, "row") + " of " + printable(key.first, 80) + " on " + printable(key.second, 80) +
                    " below 0.2, expected at least that of a layer that launches a kernel");
    if (odd > 0)
      out.push_back(batches.begin()->second.file + ": times of " + printable(key.first, 80) + " on " +
                    printable(key.second, 80) + ": " + first +
                    (odd > 1 ? ", and " + counted(odd - 1, "more such batch", "more such batches") : ""));
  }
  return out;
}

std::map<std::string, std::vector<std::pair<std::string, std::string>>> TimesTable::pairs_of_files() const {
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> out;
  for (const auto& [key, batches] : rows_) {
    std::set<std::string> files;
    for (const auto& [batch, block] : batches) files.insert(block.file);
    for (const std::string& file : files) out[file].push_back(key);
  }
  return out;
}

std::vector<std::string> TimesTable::models() const {
  std::set<std::string> names;
  for (const auto& [key, batches] : rows_) names.insert(key.first);
  return {names.begin(), names.end()};
}
std::vector<std::string> TimesTable::gpus() const {
  std::set<std::string> names;
  for (const auto& [key, batches] : rows_) names.insert(key.second);
  return {names.begin(), names.end()};
}

}  // namespace distsim::serving
