// Convolutions and pools: windows that step over the last dimensions.
#include <algorithm>

#include "sim/opgraph/onnx/onnx_reader.hpp"

namespace distsim::opgraph {
namespace {

constexpr std::int64_t kMostOfWindow = std::int64_t{1} << 24;

double whole(std::int64_t n) { return static_cast<double>(n); }

}  // namespace

/// One dimension of a window and of what it steps over.
struct OnnxLowering::Side {
  std::int64_t size = 0, kernel = 1, stride = 1, dilation = 1;
  std::int64_t before = 0, after = 0;  ///< pads
  std::int64_t reach() const { return dilation * (kernel - 1) + 1; }

  /// Pads of as much as is missing in all; of an odd number the last one stands behind, or before.
  void share(double missing, bool first_is_larger) {
    const auto all = static_cast<std::int64_t>(std::clamp(missing, 0.0, whole(2 * kMostOfWindow)));
    before = first_is_larger ? all - all / 2 : all / 2;
    after = all - before;
  }
};

/// Lists that have a number for each dimension, or are not there.
Result<void> OnnxLowering::check_window(std::size_t rank) const {
  for (const char* each : {"strides", "dilations", "output_padding", "output_shape"}) {
    const std::size_t n = integers(each).size();
    const bool with_batch = std::string_view(each) == "output_shape" && n == rank + 2;
    if (n != 0 && n != rank && !with_batch)
      return wrong(std::string(each) + ": found " + std::to_string(n) + ", expected " + std::to_string(rank));
  }
  const std::vector<std::int64_t> pads = integers("pads");
  if (!pads.empty() && pads.size() != 2 * rank)
    return wrong("pads: found " + std::to_string(pads.size()) + ", expected " + std::to_string(2 * rank) +
                 ", one before and one after each dimension");
  for (const std::int64_t pad : pads) {
    if (pad < 0 || pad > kMostOfWindow) return wrong("pads: found " + std::to_string(pad) + ", expected 0 .. 2^24");
  }
  return {};
}

/// The pads that auto_pad stands for take the place of those that are stated. Writers that state all of an op's attributes have
/// zeros there.
Result<void> OnnxLowering::replace_pads(const Side& automatic, std::size_t i, std::size_t rank) {
  const std::vector<std::int64_t> pads = integers("pads");
  if (pads.empty() || (pads[i] == automatic.before && pads[i + rank] == automatic.after)) return {};
  const std::string found = "pads: found " + std::to_string(pads[i]) + " and " + std::to_string(pads[i + rank]) +
                            " beside auto_pad " + text("auto_pad");
  if (std::ranges::any_of(pads, [](std::int64_t pad) { return pad != 0; }))
    return wrong(found + ", expected one of them");
  if (unused_pads_.empty()) unused_pads_ = wrong(found + ", which is used").what;
  return {};
}

/// The size of a transposed convolution's result, and the pads that it has then.
Result<std::int64_t> OnnxLowering::spread(Side& s, std::size_t i, std::size_t rank) {
  const std::vector<std::int64_t> more = integers("output_padding"), stated = integers("output_shape");
  const std::int64_t added = i < more.size() ? more[i] : 0, most = std::max(s.stride, s.dilation);
  if (added < 0 || added >= most)
    return wrong("output_padding: found " + std::to_string(added) + ", expected 0 .. " + std::to_string(most - 1) +
                 ", less than a stride or dilation");
  const std::string automatic = text("auto_pad");
  const double unpadded = whole(s.size - 1) * whole(s.stride) + whole(s.reach() + added);
  if (stated.empty() && !automatic.starts_with("SAME")) {
    if (automatic == "VALID") TRY(replace_pads(Side{}, i, rank));
    if (automatic == "VALID") s.before = s.after = 0;
    return static_cast<std::int64_t>(std::clamp(unpadded - whole(s.before + s.after), -1.0, 9e18));
  }
  const double full = stated.empty() ? whole(s.size) * whole(s.stride) : whole(stated[stated.size() - rank + i]);
  const double largest = std::max(unpadded, whole(s.size - 1) * whole(s.stride) + whole(s.reach() + s.stride - 1));
  if (full > largest)
    return wrong("output_shape: found " + std::to_string(stated[stated.size() - rank + i]) + " of " +
                 std::to_string(s.size) + " steps, expected at most " + std::to_string(count(largest)));
  s.share(unpadded - full, automatic != "SAME_UPPER");
  if (stated.empty()) TRY(replace_pads(s, i, rank));
  return static_cast<std::int64_t>(std::clamp(full, -1.0, 9e18));
}

/// The number of windows that a dimension has.
Result<std::int64_t> OnnxLowering::windows(Side& s, std::size_t i, std::size_t rank, bool rounds_up) {
  const std::string automatic = text("auto_pad");
  if (automatic.starts_with("SAME")) {
    const std::int64_t n = (s.size + s.stride - 1) / s.stride;
    s.share(whole(n - 1) * whole(s.stride) + whole(s.reach() - s.size), automatic == "SAME_LOWER");
    TRY(replace_pads(s, i, rank));
    return n;
  }
  if (automatic == "VALID") {
    TRY(replace_pads(Side{}, i, rank));
    s.before = s.after = 0;
  }
  const std::int64_t padded = s.size + s.before + s.after, span = padded - s.reach();
  if (span < 0)
    return wrong("found an image of " + std::to_string(padded) + " with its pads, expected " +
                 std::to_string(s.reach()) + " and more, the reach of the window");
  std::int64_t n = (span + (rounds_up ? s.stride - 1 : 0)) / s.stride + 1;
  if (rounds_up && (n - 1) * s.stride >= s.size + s.before) --n;  // it would begin in the pads
  return n;
}

/// Windows over the last dimensions; sizes of the result.
Result<void> OnnxLowering::window_of(const Dims& image, Eager::Window& w, Dims& result, bool rounds_up) {
  const std::size_t rank = w.kernel.size();
  if (image.size() != rank + 2)
    return wrong("found " + std::to_string(image.size()) + " dimensions, expected " + std::to_string(rank + 2));
  TRY(check_window(rank));
  const std::vector<std::int64_t> pads = integers("pads");
  w.stride = integers("strides"), w.dilation = integers("dilations");
  w.stride.resize(rank, 1), w.dilation.resize(rank, 1);
  std::vector<std::int64_t> before, after;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t sizes[] = {w.stride[i], w.dilation[i], w.kernel[i]};
    if (*std::ranges::min_element(sizes) < 1 || *std::ranges::max_element(sizes) > kMostOfWindow)
      return wrong("found a stride, dilation or window of " + std::to_string(*std::ranges::min_element(sizes)) +
                   ", expected 1 .. 2^24");
    Side s{image[i + 2], w.kernel[i], w.stride[i], w.dilation[i]};
    if (!pads.empty()) s.before = pads[i], s.after = pads[i + rank];
    TRY_ASSIGN(result[i + 2], w.transposed ? spread(s, i, rank) : windows(s, i, rank, rounds_up));
    if (node_->op_type().ends_with("Pool") && std::max(s.before, s.after) >= s.reach())
      return wrong("pads: found " + std::to_string(std::max(s.before, s.after)) + ", expected less than the " +
                   std::to_string(s.reach()) + " of the window");
    before.push_back(s.before), after.push_back(s.after);
  }
  w.pad = before;
  if (after != before) w.pad.insert(w.pad.end(), after.begin(), after.end());
  TRY_ASSIGN(result, checked(std::move(result)));
  return {};
}

Result<void> OnnxLowering::convolution() {
  TRY_ASSIGN(const Id x, tensor(0));
  TRY_ASSIGN(const Id filters, tensor(1));
  const Dims image = eager_.dims(x), f = eager_.dims(filters);
  if (f.size() < 3 || f.size() > 5)
    return wrong("found filters with " + std::to_string(f.size()) + " dimensions, expected 3 to 5");
  Eager::Window w;
  w.transposed = node_->op_type() == "ConvTranspose";
  w.groups = integer("group", 1);
  if (w.groups < 1 || w.groups > kLargestExtent)
    return wrong("group: found " + std::to_string(w.groups) + ", expected 1 or more");
  w.kernel.assign(f.begin() + 2, f.end());
  if (const std::vector<std::int64_t> stated = integers("kernel_shape"); !stated.empty() && stated != w.kernel)
    return wrong("kernel_shape: found another window than that of the filters, expected the same");
  Dims result = image;
  TRY(window_of(image, w, result, false));
  const std::int64_t channels = w.transposed ? f[0] : f[1];
  if (static_cast<double>(channels) * static_cast<double>(w.transposed ? 1 : w.groups) != static_cast<double>(image[1]))
    return wrong("found " + std::to_string(image[1]) + " channels, expected " + std::to_string(channels) +
                 " for each of " + std::to_string(w.groups) + " groups");
  result[1] = w.transposed ? f[1] * std::min<std::int64_t>(w.groups, 1 << 20) : f[0];
  TRY_ASSIGN(result, checked(std::move(result)));
  std::optional<Id> bias;
  if (has(2)) {
    TRY_ASSIGN(bias, tensor(2));
  }
  return give(eager_.convolution(x, filters, bias, w, result));
}

Result<void> OnnxLowering::pool() {
  TRY_ASSIGN(const Id x, tensor(0));
  Eager::Window w;
  w.kernel = integers("kernel_shape");
  Dims result = eager_.dims(x);
  const Dims image = result;
  TRY(window_of(image, w, result, integer("ceil_mode", 0) != 0));
  const bool deep = image.size() == 5;
  if (node_->op_type() == "MaxPool")
    return give(eager_.pool(deep ? "max_pool3d_with_indices" : "max_pool2d_with_indices",
                            deep ? "max_pool3d_with_indices_backward" : "max_pool2d_with_indices_backward", x, w,
                            result));
  return give(eager_.pool(deep ? "avg_pool3d" : "avg_pool2d", deep ? "avg_pool3d_backward" : "avg_pool2d_backward", x,
                          w, result));
}

}  // namespace distsim::opgraph
