// What looks at tensors otherwise, and what moves their elements.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/opgraph/onnx/onnx_reader.hpp"

namespace distsim::opgraph {

Result<void> OnnxLowering::identity() {
  TRY_ASSIGN(const Id x, tensor(0));
  return give(x);
}

Result<void> OnnxLowering::reshape() {
  TRY_ASSIGN(const Id x, tensor(0));
  TRY_ASSIGN(std::vector<std::int64_t> sizes, listed("shape", 1));
  const Dims from = eager_.dims(x);
  double known = 1;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0 && integer("allowzero", 0) == 0 && i < from.size()) sizes[i] = from[i];
    if (sizes[i] == -1 && !open)
      open = i;
    else
      known *= static_cast<double>(sizes[i]);
  }
  if (open) sizes[*open] = known > 0 ? static_cast<std::int64_t>(product(from) / known) : 0;
  TRY_ASSIGN(const Dims dims, checked(Dims(sizes)));
  if (product(dims) != product(from))
    return wrong("found " + std::to_string(count(product(from))) + " elements, expected those of the new shape, " +
                 std::to_string(count(product(dims))) + with_samples());
  return give(eager_.reshape(x, dims));
}

Result<Dims> OnnxLowering::flattened() {
  const Dims from = in(0).dims;
  const auto rank = static_cast<std::int64_t>(from.size());
  const std::int64_t stated = integer("axis", 1), axis = stated < 0 ? stated + rank : stated;
  if (axis < 0 || axis > rank)
    return wrong("found the axis " + std::to_string(stated) + " of a tensor with " + std::to_string(rank) +
                 " dimensions");
  const double rows = product(Dims(from.begin(), from.begin() + axis));
  const double columns = product(Dims(from.begin() + axis, from.end()));
  return Dims{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
}

Result<void> OnnxLowering::flatten() {
  TRY_ASSIGN(const Id x, tensor(0));
  TRY_ASSIGN(Dims sizes, flattened());
  if (indexed_by(*node_)) {  // of which only places are read
    OnnxValue value;
    value.dims = std::move(sizes);
    value.element = eager_.element(x);
    values_[node_->output(0)] = std::move(value);
    return {};
  }
  return give(eager_.reshape(x, sizes));
}

Result<void> OnnxLowering::transpose() {
  TRY_ASSIGN(const Id x, tensor(0));
  const std::size_t rank = eager_.dims(x).size();
  std::vector<std::size_t> order;
  for (const std::int64_t p : integers("perm")) {
    TRY_ASSIGN(const std::size_t axis, axis_of(p, rank));
    order.push_back(axis);
  }
  for (std::size_t i = rank; order.size() < rank && attribute("perm") == nullptr; --i) order.push_back(i - 1);
  std::vector<std::size_t> sorted = order;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < rank; ++i) {
    if (sorted.size() != rank || sorted[i] != i)
      return wrong("perm: found no order of all " + std::to_string(rank) + " dimensions");
  }
  if (in(0).weight) eager_.within_call();  // nn.Linear does it
  return give(eager_.permute(x, order));
}

Result<Dims> OnnxLowering::squeezed() {
  TRY_ASSIGN(const std::vector<std::int64_t> axes, listed("axes", 1));
  const Dims from = in(0).dims;
  std::vector<bool> gone(from.size(), false);
  for (std::size_t i = 0; i < from.size(); ++i) gone[i] = axes.empty() && from[i] == 1;
  for (const std::int64_t a : axes) {
    TRY_ASSIGN(const std::size_t axis, axis_of(a, from.size()));
    if (from[axis] != 1) return wrong("axes: found a dimension of size " + std::to_string(from[axis]) + ", expected 1");
    gone[axis] = true;
  }
  Dims dims;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!gone[i]) dims.push_back(from[i]);
  }
  return dims;
}

Result<void> OnnxLowering::squeeze() {
  TRY_ASSIGN(const Id x, tensor(0));
  TRY_ASSIGN(const Dims dims, squeezed());
  return give(eager_.reshape(x, dims));
}

Result<Dims> OnnxLowering::unsqueezed() {
  TRY_ASSIGN(const std::vector<std::int64_t> axes, listed("axes", 1));
  const Dims from = in(0).dims;
  const std::size_t rank = from.size() + axes.size();
  if (rank > kMostDims) return wrong("found more than 32 dimensions, expected fewer");
  std::vector<bool> added(rank, false);
  for (const std::int64_t a : axes) {
    TRY_ASSIGN(const std::size_t axis, axis_of(a, rank));
    if (added[axis]) return wrong("axes: found one twice");
    added[axis] = true;
  }
  Dims dims;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(added[i] ? 1 : from[next++]);
  return dims;
}

Result<void> OnnxLowering::unsqueeze() {
  TRY_ASSIGN(const Id x, tensor(0));
  TRY_ASSIGN(const Dims dims, unsqueezed());
  return give(eager_.reshape(x, dims));
}

Result<void> OnnxLowering::expand() {
  TRY_ASSIGN(const Id x, tensor(0));
  TRY_ASSIGN(const std::vector<std::int64_t> to, numbers(1, "shape"));
  const Dims from = eager_.dims(x);
  TRY_ASSIGN(Dims dims, checked(Dims(to)));
  TRY(broadcasts(from, dims));
  if (dims.size() < from.size()) dims.insert(dims.begin(), from.size() - dims.size(), 1);
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::int64_t& d = dims[dims.size() - i];
    d = d == 1 ? from[from.size() - i] : d;
  }
  TRY(checked(Dims(dims)));
  return give(eager_.expand(x, dims));
}

Result<std::vector<OnnxLowering::Cut>> OnnxLowering::cuts() {
  const Dims dims = in(0).dims;
  TRY_ASSIGN(const std::vector<std::int64_t> begins, listed("starts", 1));
  TRY_ASSIGN(const std::vector<std::int64_t> ends, listed("ends", 2));
  TRY_ASSIGN(std::vector<std::int64_t> axes, listed("axes", 3));
  std::vector<std::int64_t> steps(begins.size(), 1);
  if (has(4)) {
    TRY_ASSIGN(steps, numbers(4, "steps"));
  }
  for (std::size_t i = axes.size(); i < begins.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (ends.size() != begins.size() || axes.size() != begins.size() || steps.size() != begins.size())
    return wrong("found lists of different lengths, expected a start, an end, an axis and a step each");
  std::vector<Cut> out;
  std::vector<std::size_t> cut;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    TRY_ASSIGN(const std::size_t axis, axis_of(axes[i], dims.size()));
    cut.push_back(axis);
    const std::int64_t size = dims[axis];
    const auto place = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < -size ? -1 : at < 0 ? at + size : at, -1, size);
    };
    if (steps[i] == 0) return wrong("found a step of 0, expected another");
    std::int64_t begin = place(begins[i]), end = place(ends[i]);
    if (steps[i] > 0) begin = std::max<std::int64_t>(0, begin), end = std::max<std::int64_t>(0, end);
    if (steps[i] < 0) begin = std::min(begin, size - 1);
    const std::int64_t step = std::clamp(steps[i], -size - 1, size + 1), span = step > 0 ? end - begin : begin - end;
    out.push_back({axis, begin, step, span > 0 ? (span - 1) / std::abs(step) + 1 : 0});
  }
  TRY(expect_once(cut));
  return out;
}

Result<void> OnnxLowering::slice() {
  TRY_ASSIGN(Id x, tensor(0));
  TRY_ASSIGN(const std::vector<Cut> all, cuts());
  for (const Cut& c : all) x = eager_.slice(x, c.axis, c.count, std::abs(c.step));
  if (std::ranges::any_of(all, [](const Cut& c) { return c.step < 0; })) x = eager_.flip(x);
  return give(x);
}

Result<void> OnnxLowering::split() {
  TRY_ASSIGN(const Id x, tensor(0));
  TRY_ASSIGN(std::vector<std::int64_t> sizes, listed("split", 1));
  TRY_ASSIGN(const std::size_t axis, axis_of(integer("axis", 0), eager_.dims(x).size()));
  const auto parts = static_cast<std::int64_t>(node_->output_size());
  if (const std::int64_t stated = integer("num_outputs", parts); stated != parts)
    return wrong("num_outputs: found " + std::to_string(stated) + ", expected " + std::to_string(parts) +
                 ", its results");
  const std::int64_t whole = eager_.dims(x)[axis];
  if (sizes.empty()) {
    constexpr std::int64_t kFirstUneven = 18;
    if (parts > 0 && whole % parts != 0 && opset_ < kFirstUneven && !any_batch_)
      return wrong("split: found " + std::to_string(parts) + " parts of " + std::to_string(whole) +
                   ", expected equal ones where their sizes are not stated");
    const std::int64_t each = parts > 0 ? (whole + parts - 1) / parts : 0;
    for (std::int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::min(each, std::max<std::int64_t>(0, whole - i * each)));
  }
  if (sizes.size() != static_cast<std::size_t>(parts))
    return wrong("split: found another number of parts than results");
  TRY(check_split(sizes, whole));
  const Ids out = eager_.split(x, axis, sizes);
  for (std::size_t i = 0; i < out.size(); ++i) TRY(give(out[i], static_cast<int>(i)));
  return {};
}

Result<void> OnnxLowering::concat() {
  Ids parts;
  for (int i = 0; i < node_->input_size(); ++i) {
    TRY_ASSIGN(const Id t, tensor(i));
    parts.push_back(t);
  }
  if (parts.empty()) return wrong("found no inputs, expected at least one");
  const Dims first = eager_.dims(parts.front());
  TRY_ASSIGN(const std::size_t axis, axis_of(concat_axis(), first.size()));
  double whole = 0;
  for (const Id p : parts) {
    if (eager_.dims(p).size() != first.size()) return wrong("found tensors with different numbers of dimensions");
    whole += static_cast<double>(eager_.dims(p)[axis]);
  }
  if (whole > static_cast<double>(kLargestExtent)) return wrong("found a size of more than 2^48, expected less");
  return give(eager_.cat(parts, axis));
}

/// Rows of a table are an embedding; other axes are indexed.
Result<void> OnnxLowering::gather() {
  if (const auto by = has(0) && has(1) ? makers_.find(node_->input(0)) : makers_.end(); by != makers_.end()) {
    if (const std::optional<Indexed> indexed = indexed_by(onnx_.node(by->second))) return index_of(*indexed);
  }
  TRY_ASSIGN(const Id x, tensor(0));
  const Dims from = eager_.dims(x);
  TRY_ASSIGN(const std::size_t axis, axis_of(integer("axis", 0), from.size()));
  if (!has(1)) return wrong("found no input 1, expected places");
  if (in(1).numbers && in(1).numbers->size() == 1 && !in(1).tensor) {  // one place: a view
    Dims dims = from;
    dims[axis] = 1;
    const Id part = eager_.slice(x, axis, 1);
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), in(1).dims.begin(), in(1).dims.end());
    return give(eager_.reshape(part, dims));
  }
  TRY_ASSIGN(const Id ids, tensor(1));
  TRY(check_places(ids));
  if (axis == 0 && from.size() == 2 && eager_.element(x).floating && in(0).weight)
    return give(eager_.embedding(x, ids));
  Dims dims = from;
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), in(1).dims.begin(), in(1).dims.end());
  TRY(checked(Dims(dims)));
  return give(eager_.gather("index", x, ids, dims));  // x[..., ids], which is exported as this; index_select too
}

Result<void> OnnxLowering::gather_elements() {
  TRY_ASSIGN(const Id x, tensor(0));
  TRY_ASSIGN(const Id ids, tensor(1));
  TRY(check_places(ids));
  if (node_->op_type() == "GatherElements") return give(eager_.gather("gather", x, ids, Dims(eager_.dims(ids))));
  const Dims from = eager_.dims(x), places = eager_.dims(ids);  // GatherND
  const auto shared = static_cast<std::size_t>(std::clamp<std::int64_t>(integer("batch_dims", 0), 0, 32));
  if (places.empty() || shared + static_cast<std::size_t>(std::max<std::int64_t>(0, places.back())) > from.size())
    return wrong("found more coordinates than dimensions");
  Dims dims(places.begin(), places.end() - 1);
  dims.insert(dims.end(), from.begin() + static_cast<std::ptrdiff_t>(shared) + places.back(), from.end());
  TRY(checked(Dims(dims)));
  return give(eager_.gather("index", x, ids, dims));
}

Result<void> OnnxLowering::scatter() {
  TRY_ASSIGN(const Id x, tensor(0));
  TRY_ASSIGN(const Id ids, tensor(1));
  TRY(check_places(ids));
  TRY_ASSIGN(const Id updates, tensor(2));
  return give(eager_.scatter(rule_->call, x, ids, updates));
}

Result<void> OnnxLowering::pad() {
  TRY_ASSIGN(const Id x, tensor(0));
  TRY_ASSIGN(const std::vector<std::int64_t> pads, listed("pads", 1));
  Dims dims = eager_.dims(x);
  const std::size_t rank = dims.size();
  std::vector<std::size_t> axes;
  if (has(3)) {
    TRY_ASSIGN(const std::vector<std::int64_t> given, numbers(3, "axes"));
    for (const std::int64_t a : given) {
      TRY_ASSIGN(const std::size_t axis, axis_of(a, rank));
      axes.push_back(axis);
    }
  } else {
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  if (pads.size() != 2 * axes.size())
    return wrong("pads: found " + std::to_string(pads.size()) + ", expected two for each dimension");
  bool none = true;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    for (const std::int64_t p : {pads[i], pads[i + axes.size()]}) {
      if (p < -kLargestExtent || p > kLargestExtent)
        return wrong("pads: found " + std::to_string(p) + ", expected less");
      dims[axes[i]] += p, none = none && p == 0;
    }
  }
  TRY(checked(Dims(dims)));
  return give(none ? x : eager_.pad(x, dims));
}

Result<void> OnnxLowering::tile() {
  TRY_ASSIGN(const Id x, tensor(0));
  TRY_ASSIGN(const std::vector<std::int64_t> repeats, numbers(1, "repeats"));
  Dims dims = eager_.dims(x);
  if (repeats.size() != dims.size()) return wrong("repeats: found another number than dimensions");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (repeats[i] < 0 || repeats[i] > (std::int64_t{1} << 24))
      return wrong("repeats: found " + std::to_string(repeats[i]));
    dims[i] = static_cast<std::int64_t>(std::min(9e18, static_cast<double>(dims[i]) * static_cast<double>(repeats[i])));
  }
  TRY(checked(Dims(dims)));
  return give(eager_.gather("repeat", x, x, dims));
}

/// Constant sizes or scales of its dimensions; else what is stated of its result.
namespace {

/// Gives all axes the smallest (not_larger) or largest of their scales. False: a size that is 0 or too large.
bool keep_aspect_ratio(const Dims& in, const std::vector<std::size_t>& axes, bool not_larger, Dims& out) {
  std::optional<double> scale;
  for (const std::size_t axis : axes) {
    if (in[axis] <= 0 || out[axis] <= 0) return false;
    const double own = static_cast<double>(out[axis]) / static_cast<double>(in[axis]);
    scale = !scale ? own : not_larger ? std::min(*scale, own) : std::max(*scale, own);
  }
  for (const std::size_t axis : axes) {
    const double exact = *scale * static_cast<double>(in[axis]);
    if (exact > static_cast<double>(kLargestExtent)) return false;
    out[axis] = std::llround(exact);
  }
  return true;
}

}  // namespace

Result<Dims> OnnxLowering::resized() {
  Dims dims = eager_.dims(*in(0).tensor);
  std::vector<std::int64_t> axes = integers("axes");
  if (axes.empty()) {
    axes.resize(dims.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  std::vector<std::size_t> of;
  for (const std::int64_t a : axes) {
    TRY_ASSIGN(const std::size_t axis, axis_of(a, dims.size()));
    of.push_back(axis);
  }
  constexpr std::int64_t kFirstWithRegions = 11;
  const int place = node_->op_type() == "Upsample" || opset_ < kFirstWithRegions ? 1 : 2;
  const onnx::Attribute* const old = attribute("scales");
  const std::vector<double> scales = old != nullptr ? std::vector<double>(old->floats().begin(), old->floats().end())
                                     : has(place)   ? in(place).scales
                                                    : std::vector<double>();
  const auto expect_one_each = [&](std::size_t n, const char* noun) -> Result<void> {
    return n == of.size()
               ? Result<void>()
               : wrong("found " + counted(n, noun) + ", expected one for each of " + counted(of.size(), "dimension"));
  };
  if (has(3) && in(3).numbers) {
    const std::vector<std::int64_t>& sizes = *in(3).numbers;
    TRY(expect_one_each(sizes.size(), "size"));
    const std::string policy = text("keep_aspect_ratio_policy");
    const Dims in = dims;
    for (std::size_t i = 0; i < of.size(); ++i) dims[of[i]] = sizes[i];
    if (policy.starts_with("not_") && !keep_aspect_ratio(in, of, policy == "not_larger", dims))
      return wrong("found sizes without an aspect ratio, expected sizes above 0 and up to 2^48");
  } else if (!scales.empty() && text("coordinate_transformation_mode") != "tf_crop_and_resize") {
    TRY(expect_one_each(scales.size(), "scale"));
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (!(scales[i] > 0 && scales[i] <= 65536)) return wrong("found a scale that is not above 0 and up to 65536");
      const float exact = static_cast<float>(dims[of[i]]) * static_cast<float>(scales[i]);  // as runtimes round it
      if (scales[i] != 1) dims[of[i]] = static_cast<std::int64_t>(exact);
    }
  } else {
    std::vector<Element> types;
    const std::vector<Dims> stated = stated_results(types);
    if (stated.empty())
      return wrong(
          "found neither constant sizes nor constant scales, expected them or the shape of its result: run ONNX's shape "
          "inference");
    if (stated.front().size() != dims.size())
      return wrong("found a result of " + counted(stated.front().size(), "dimension") + ", expected " +
                   std::to_string(dims.size()));
    dims = stated.front();
  }
  return checked(std::move(dims));
}

Result<void> OnnxLowering::resize() {
  TRY_ASSIGN(const Id x, tensor(0));
  TRY_ASSIGN(const Dims dims, resized());
  const std::string mode = text("mode");
  const bool of_images = dims.size() == 4 && dims[0] == eager_.dims(x)[0] && dims[1] == eager_.dims(x)[1];
  const bool flat = !of_images || mode.empty() || mode == "nearest";
  return give(eager_.resize(flat              ? "upsample_nearest2d"
                            : mode == "cubic" ? "upsample_bicubic2d"
                                              : "upsample_bilinear2d",
                            x, dims));
}

/// Blocks between channels and space: a view, a permutation and a copy.
Result<void> OnnxLowering::space() {
  TRY_ASSIGN(const Id x, tensor(0));
  const Dims d = eager_.dims(x);
  const std::int64_t block = integer("blocksize", 1);
  if (d.size() != 4 || block < 1 || block > 4096)
    return wrong("found no image or block size, expected 4 dimensions and a block of at least 1");
  if (*std::ranges::max_element(d) > (std::int64_t{1} << 36))
    return wrong("found a size of more than 2^36, expected less");
  const std::int64_t b2 = block * block;
  const bool to_depth = node_->op_type() == "SpaceToDepth";
  if (to_depth ? d[2] % block != 0 || d[3] % block != 0 : d[1] % b2 != 0)
    return wrong("found sizes that the block does not divide");
  const Dims cut = to_depth ? Dims{d[0], d[1], d[2] / block, block, d[3] / block, block}
                            : Dims{d[0], d[1] / b2, block, block, d[2], d[3]};
  const std::vector<std::size_t> order =
      to_depth ? std::vector<std::size_t>{0, 1, 3, 5, 2, 4} : std::vector<std::size_t>{0, 1, 4, 2, 5, 3};
  const Dims result =
      to_depth ? Dims{d[0], d[1] * b2, d[2] / block, d[3] / block} : Dims{d[0], d[1] / b2, d[2] * block, d[3] * block};
  return give(eager_.reshape(eager_.permute(eager_.reshape(x, cut), order), result));
}

}  // namespace distsim::opgraph
