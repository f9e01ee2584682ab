#include "traces/build/collective_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/text/counted.hpp"
#include "base/text/lower_case.hpp"
#include "base/text/printable.hpp"

namespace distsim::traces {
namespace {

constexpr std::size_t kMostGroups = 4096;  // of a job; a hostile trace may name another with every event

struct KindWord {
  std::string_view word;
  graph::CollectiveKind kind;
};

/// Longer words first where one holds the other.
constexpr std::array<KindWord, 14> kKindWords{{{"reducescatter", graph::CollectiveKind::reduce_scatter},
                                               {"allreduce", graph::CollectiveKind::all_reduce},
                                               {"allgather", graph::CollectiveKind::all_gather},
                                               {"alltoallv", graph::CollectiveKind::all_to_all_v},
                                               {"alltoall", graph::CollectiveKind::all_to_all},
                                               {"broadcast", graph::CollectiveKind::broadcast},
                                               {"barrier", graph::CollectiveKind::barrier},
                                               {"sendrecv", graph::CollectiveKind::send_recv},
                                               {"scatter", graph::CollectiveKind::scatter},
                                               {"gather", graph::CollectiveKind::gather},
                                               {"reduce", graph::CollectiveKind::reduce},
                                               {"isend", graph::CollectiveKind::send_recv},
                                               {"send", graph::CollectiveKind::send_recv},
                                               {"recv", graph::CollectiveKind::send_recv}}};

/// Only the letters, in lower case: "_allgather_base" -> "allgatherbase".
std::string letters(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) out += lower_case(c);
  }
  return out;
}

std::optional<graph::CollectiveKind> kind_in(const std::string& word) {
  for (const KindWord& k : kKindWords) {
    if (word.find(k.word) != std::string::npos) return k.kind;
  }
  return std::nullopt;
}

/// Where "nccl" or "rccl" begins in a name; npos: nowhere.
std::size_t library_in(std::string_view name) {
  for (std::size_t i = 0; i + 4 <= name.size(); ++i) {
    const auto at = [&](std::size_t k) { return static_cast<char>(name[i + k] | 0x20); };
    if ((at(0) == 'n' || at(0) == 'r') && at(1) == 'c' && at(2) == 'c' && at(3) == 'l') return i;
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<graph::CollectiveKind> collective_of_call(std::string_view name) {
  if (name.size() > 256) return std::nullopt;
  const std::size_t colon = name.rfind(':');
  if (colon != std::string_view::npos) name.remove_prefix(colon + 1);
  return kind_in(letters(name));
}

std::optional<graph::CollectiveKind> collective_of_kernel(std::string_view name) {
  if (!is_communication_kernel(name)) return std::nullopt;
  name = name.substr(std::min(library_in(name), name.size()), 256);
  const std::string_view first =
      name.substr(0, name.find_first_of("_(<"));  // "ncclAllReduceRingLLKernel", "ncclDevKernel"
  if (const auto kind = kind_in(letters(first))) return kind;
  const std::size_t bar = name.find('_');
  if (bar == std::string_view::npos) return std::nullopt;
  name = name.substr(bar + 1, 40);
  name = name.substr(0, name.find_first_of("_("));  // "AllReduce", "Generic"
  return kind_in(letters(name));
}

std::optional<graph::DType> dtype_of_kernel(std::string_view name) {
  using Kind = graph::CollectiveKind;
  const auto kind = collective_of_kernel(name);
  if (kind != Kind::all_reduce && kind != Kind::reduce_scatter && kind != Kind::reduce) return std::nullopt;
  name = name.substr(0, std::min<std::size_t>(name.find('('), 256));
  for (std::size_t at = name.find('_'); at != std::string_view::npos; at = name.find('_')) {
    name.remove_prefix(at + 1);
    if (const auto dtype = dtype_of_text(name.substr(0, name.find('_')))) return dtype;
  }
  return std::nullopt;
}

bool is_communication_kernel(std::string_view name) { return library_in(name) != std::string_view::npos; }

std::optional<graph::DType> dtype_of_text(std::string_view text) {
  std::string t = lower_case(text);
  if (const std::size_t tensor = t.find("tensor(");
      tensor != std::string::npos) {  // "GenericList[Tensor(float),Tensor(float)]"
    t = t.substr(tensor + 7);
    t = t.substr(0, t.find_first_of("),"));
  }
  if (t.starts_with("c10::")) t = t.substr(5);
  if (t == "float" || t == "float32" || t == "f32") return graph::DType::fp32;
  if (t == "double" || t == "float64" || t == "f64") return graph::DType::fp64;
  if (t == "half" || t == "float16" || t == "f16") return graph::DType::fp16;
  if (t == "bfloat16" || t == "bf16") return graph::DType::bf16;
  if (t.starts_with("float8") || t.starts_with("fp8") || t.starts_with("f8e")) return graph::DType::fp8;
  if (t == "long" || t == "long int" || t == "long long" || t == "int64" || t == "int64_t" || t == "u64" ||
      t == "uint64" || t == "i64")
    return graph::DType::int64;
  if (t == "int" || t == "int32" || t == "int32_t" || t == "u32" || t == "uint32" || t == "i32")
    return graph::DType::int32;
  if (t == "char" || t == "signed char" || t == "unsigned char" || t == "byte" || t == "int8" || t == "int8_t" ||
      t == "uint8" || t == "bool" || t == "u8" || t == "i8")
    return graph::DType::int8;
  return std::nullopt;
}

std::vector<std::int64_t> integer_list(std::string_view text, bool& cut) {
  std::vector<std::int64_t> out;
  cut = text.find("...") != std::string_view::npos;
  const char* p = text.data();
  const char* end = p + text.size();
  while (p < end) {
    std::int64_t v = 0;
    const auto [after, error] = std::from_chars(p, end, v);
    if (error == std::errc()) {
      out.push_back(v);
      p = after;
    } else {
      ++p;
    }
  }
  return out;
}

namespace {

constexpr std::int64_t kMostRanks = std::int64_t{1} << 20;  // of a group that isn't listed

/// Empty where one of them is no rank.
std::vector<std::uint32_t> as_ranks(const std::vector<std::int64_t>& numbers) {
  std::vector<std::uint32_t> ranks;
  for (const std::int64_t n : numbers) {
    if (n < 0 || n > INT32_MAX) return {};
    ranks.push_back(static_cast<std::uint32_t>(n));
  }
  return ranks;
}

std::vector<std::uint32_t> strided(std::int64_t start, std::int64_t stride, std::int64_t size) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < size; ++i) numbers.push_back(start + i * stride);
  return as_ranks(numbers);
}

/// All `size` of a list that was cut between `first` and `last`, where one stride leads through it; else empty.
std::vector<std::uint32_t> rebuilt(const std::vector<std::uint32_t>& first, std::int64_t last, std::int64_t size) {
  if (first.size() < 2 || size <= static_cast<std::int64_t>(first.size()) || size > kMostRanks) return {};
  const std::int64_t stride = std::int64_t{first[1]} - first[0];
  if (stride <= 0 || last != first[0] + stride * (size - 1)) return {};
  std::vector<std::uint32_t> all = strided(first[0], stride, size);
  return all.size() > first.size() && std::equal(first.begin(), first.end(), all.begin())
             ? all
             : std::vector<std::uint32_t>();
}

}  // namespace

std::vector<std::uint32_t> listed_ranks(std::string_view text, std::int64_t size) {
  bool cut = false;
  const std::size_t dots = std::min(text.find("..."), text.size());
  const std::vector<std::uint32_t> first = as_ranks(integer_list(text.substr(0, dots), cut));
  if (dots == text.size()) return first;
  const std::vector<std::int64_t> last = integer_list(text.substr(dots), cut);
  return last.size() == 1 ? rebuilt(first, last.front(), size) : std::vector<std::uint32_t>();
}

std::uint32_t intern_group(TraceJob& job, TraceGroup group) {
  std::ranges::sort(group.ranks);
  if (group.size == 0) group.size = static_cast<std::uint32_t>(group.ranks.size());
  for (std::uint32_t i = 0; i < job.groups.size(); ++i) {
    TraceGroup& known = job.groups[i];
    if (known.name != group.name || (known.size != group.size && known.size != 0 && group.size != 0)) continue;
    if (known.ranks != group.ranks && !known.ranks.empty() && !group.ranks.empty()) continue;
    if (known.ranks.empty()) known.ranks = group.ranks;
    if (known.size == 0) known.size = group.size;
    if (known.description.empty()) known.description = group.description;
    return i;
  }
  if (job.groups.size() >= kMostGroups) return kNone;
  job.groups.push_back(std::move(group));
  return static_cast<std::uint32_t>(job.groups.size() - 1);
}

namespace {

/// Ranks as listed; where the list doesn't say, by the stated start and stride.
std::vector<std::uint32_t> group_ranks(const CollectiveArgs& args) {
  std::vector<std::uint32_t> listed = listed_ranks(args.ranks, args.group_size);
  const bool stated = args.rank_start >= 0 && args.rank_start <= INT32_MAX && args.rank_stride > 0 &&
                      args.rank_stride <= INT32_MAX && args.group_size > 0 && args.group_size <= kMostRanks;
  return listed.empty() && stated ? strided(args.rank_start, args.rank_stride, args.group_size) : listed;
}

bool all_equal(const std::vector<std::int64_t>& v) {
  return std::ranges::adjacent_find(v, std::ranges::not_equal_to()) == v.end();
}

}  // namespace

TraceCollective make_collective(TraceJob& job, const CollectiveArgs& args) {
  TraceCollective c;
  if (const auto kind = collective_of_call(args.name)) {
    c.kind = *kind;
    c.kind_known = true;
  }
  if (const auto dtype = dtype_of_text(args.dtype)) {
    c.dtype = *dtype;
    c.dtype_known = true;
  }
  c.in_elements = std::max<std::int64_t>(args.in_elements, -1);
  c.out_elements = std::max<std::int64_t>(args.out_elements, -1);
  c.sequence = args.sequence;
  bool cut = false;
  c.in_split = integer_list(args.in_split, cut);
  if (cut) c.in_split.clear();
  c.out_split = integer_list(args.out_split, cut);
  if (cut) c.out_split.clear();
  if (c.kind == graph::CollectiveKind::all_to_all && (!all_equal(c.in_split) || !all_equal(c.out_split)))
    c.kind = graph::CollectiveKind::all_to_all_v;
  if (c.kind == graph::CollectiveKind::all_to_all_v && !c.in_split.empty() && all_equal(c.in_split) &&
      all_equal(c.out_split))
    c.kind = graph::CollectiveKind::all_to_all;
  c.from = args.from;
  c.to = args.to;
  if (!args.group_name.empty() || args.group_size > 0 || !args.ranks.empty()) {
    TraceGroup group;
    group.name = args.group_name;
    group.description = args.group_description;
    group.size = args.group_size > 0 && args.group_size <= INT32_MAX ? static_cast<std::uint32_t>(args.group_size) : 0;
    group.ranks = group_ranks(args);
    const bool contradicts = group.size != 0 && !group.ranks.empty() && group.size != group.ranks.size();
    if (contradicts) group.size = static_cast<std::uint32_t>(group.ranks.size());
    c.group = intern_group(job, std::move(group));
    if (contradicts && c.group != kNone)
      job.notes.assume("process group " + in_quotes(job.groups[c.group].name) + " states another size than the " +
                       counted(job.groups[c.group].size, "rank") + " that it lists, which " +
                       std::string(agreeing(job.groups[c.group].size, "counts", "count")));
  }
  return c;
}

}  // namespace distsim::traces
