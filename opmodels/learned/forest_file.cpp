#include "opmodels/learned/forest_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "base/text/number_text.hpp"

namespace distsim::opmodels {
namespace {

constexpr std::string_view kForestMagic = "dsforest";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint8_t kLeaf = 255;
constexpr std::uint32_t kMaxTrees = 4096;
constexpr std::size_t kMaxLevels = 64;
constexpr std::size_t kMaxText = 1 << 16;
constexpr std::size_t kMaxDevices = 256;

/// Reads from the front; past the end everything is zero and `failed` is set.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  T take() {
    T value{};
    if (rest_.size() < sizeof(T)) {
      failed_ = true;
      rest_ = {};
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return value;
  }
  std::string_view text(std::size_t length) {
    if (length > rest_.size()) {
      failed_ = true;
      return {};
    }
    const std::string_view out = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return out;
  }
  bool failed() const { return failed_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

Error bad_file(std::string what) { return {std::move(what), "", ""}; }
Error truncated() { return bad_file("found a truncated model file, expected more bytes"); }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

Result<float> parse_number(std::string_view word) {
  const auto value = plain_number(word);
  if (!value) return bad_file("found '" + std::string(word) + "', expected a number");
  return static_cast<float>(*value);
}

Result<LearnedModel::Feature> parse_feature(LearnedKernel kernel, const std::vector<std::string_view>& words) {
  const auto names = feature_names(kernel);
  const auto found = std::find(names.begin(), names.end(), words[1]);
  if (found == names.end()) {
    return Error{"feature: found '" + std::string(words[1]) + "', expected a feature of " +
                     std::string(name_of(kernel)) + " in this version",
                 "", "the model was trained for another version; retrain it"};
  }
  LearnedModel::Feature feature;
  feature.index = static_cast<std::uint8_t>(found - names.begin());
  if (words.size() == 3 && words[2] == "free") return feature;
  if (words.size() != 4)
    return bad_file("feature: found " + std::to_string(words.size() - 1) +
                    " fields, expected NAME free or NAME LOW HIGH");
  feature.bounded = true;
  TRY_ASSIGN(feature.low, parse_number(words[2]));
  TRY_ASSIGN(feature.high, parse_number(words[3]));
  return feature;
}

/// "2+4": element bytes, or "none".
Result<unsigned> parse_widths(std::string_view text) {
  unsigned widths = 0;
  if (text == "none") return widths;
  for (const std::string_view word : split(text, '+')) {
    if (word != "1" && word != "2" && word != "4" && word != "8")
      return bad_file("device: found '" + std::string(text) + "', expected bytes of an element such as 2+4, or none");
    widths |= static_cast<unsigned>(word[0] - '0');
  }
  return widths;
}

Result<void> parse_device(const std::vector<std::string_view>& words, LearnedModel& model) {
  if (model.devices.size() >= kMaxDevices) return bad_file("found more devices than " + std::to_string(kMaxDevices));
  model.devices.emplace_back();
  for (std::size_t i = 0; i < kDeviceFeatures; ++i) {
    TRY_ASSIGN(model.devices.back()[i], parse_number(words[i + 1]));
  }
  if (words.size() == kDeviceFeatures + 1) return {};
  TRY_ASSIGN(const float hbm, parse_number(words[kDeviceFeatures + 1]));
  TRY_ASSIGN(const float floor, parse_number(words[kDeviceFeatures + 2]));
  if (!(hbm > 0 && floor > 0)) return bad_file("device: found a rate or a time that is not positive");
  TRY_ASSIGN(const unsigned widths, parse_widths(words[kDeviceFeatures + 3]));
  model.scales.push_back({static_cast<double>(hbm) * 1e9, static_cast<double>(floor) * 1e-6, widths});
  if (model.scales.size() != model.devices.size())
    return bad_file("found devices with and without their memory bandwidth, expected all alike");
  return {};
}

Result<void> parse_line(std::string_view line, bool& has_kernel, LearnedModel& model) {
  const auto words = split(line, ' ');
  if (words[0] == "kernel" && words.size() == 2) {
    const auto kernel = parse_learned_kernel(words[1]);
    if (!kernel)
      return bad_file("kernel: found '" + std::string(words[1]) + "', expected a kernel that has a learned model");
    model.kernel = *kernel;
    has_kernel = true;
    return {};
  }
  if (words[0] == "data") {
    model.data = line.substr(std::min<std::size_t>(5, line.size()));
    return {};
  }
  if (words[0] == "device" && (words.size() == kDeviceFeatures + 1 || words.size() == kDeviceFeatures + 4))
    return parse_device(words, model);
  if (words[0] != "feature" || words.size() < 2 || !has_kernel)
    return bad_file("found the line '" + std::string(line) + "', expected kernel, data, feature or device");
  if (model.features.size() >= FeatureVector::kMax)
    return bad_file("found more features than " + std::to_string(FeatureVector::kMax));
  TRY_ASSIGN(const LearnedModel::Feature feature, parse_feature(model.kernel, words));
  model.features.push_back(feature);
  return {};
}

Result<void> parse_text(std::string_view text, LearnedModel& model) {
  bool has_kernel = false;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) TRY(parse_line(line, has_kernel, model));
  }
  if (!has_kernel || model.features.empty()) return bad_file("found no kernel or no features, expected both");
  return {};
}

using Thresholds = std::vector<std::vector<float>>;

Result<Thresholds> parse_thresholds(ByteReader& in, std::size_t features) {
  Thresholds all(features);
  for (auto& one : all) {
    one.resize(in.take<std::uint16_t>());
    if (one.size() > 256)
      return bad_file("found " + std::to_string(one.size()) + " thresholds of one feature, expected at most 256");
    for (float& value : one) value = in.take<float>();
    if (!std::all_of(one.begin(), one.end(), [](float v) { return std::isfinite(v); }))
      return bad_file("found a threshold that is not finite");
  }
  if (in.failed()) return truncated();
  return all;
}

Result<void> parse_tree(ByteReader& in, const Thresholds& thresholds, float unit, Forest& forest) {
  forest.begin_tree();
  while (!forest.tree_complete()) {
    const auto feature = in.take<std::uint8_t>();
    if (feature == kLeaf) {
      forest.add_leaf(static_cast<float>(in.take<std::int16_t>()) * unit);
      if (in.failed()) return truncated();
      continue;
    }
    const auto bin = in.take<std::uint8_t>();
    if (in.failed()) return truncated();
    if (feature >= thresholds.size() || bin >= thresholds[feature].size())
      return bad_file("found a split on a feature or threshold that does not exist");
    if (forest.next_depth() >= kMaxLevels || forest.nodes() + 4 >= Forest::kMaxNodes)
      return bad_file("found a tree of more than 64 levels or too many nodes");
    forest.add_split(feature, thresholds[feature][bin]);
  }
  return {};
}

Result<Forest> parse_forest(ByteReader& in, const Thresholds& thresholds) {
  const auto base = in.take<float>();
  const auto unit = in.take<float>();
  const auto trees = in.take<std::uint32_t>();
  if (in.failed()) return truncated();
  if (!std::isfinite(base) || !std::isfinite(unit)) return bad_file("found a base or leaf unit that is not finite");
  if (trees > kMaxTrees)
    return bad_file("found " + std::to_string(trees) + " trees, expected at most " + std::to_string(kMaxTrees));
  Forest forest(base);
  for (std::uint32_t t = 0; t < trees; ++t) TRY(parse_tree(in, thresholds, unit, forest));
  return forest;
}

Result<std::string_view> checked_payload(std::string_view bytes) {
  if (!bytes.starts_with(kForestMagic))
    return bad_file("found a different kind of file, expected a learned op model (dsforest)");
  if (bytes.size() < kForestMagic.size() + 12) return truncated();
  const std::string_view payload = bytes.substr(0, bytes.size() - 4);
  const auto stored = ByteReader(bytes.substr(bytes.size() - 4)).take<std::uint32_t>();
  const auto sum = crc32_z(0, reinterpret_cast<const Bytef*>(payload.data()), payload.size());
  if (sum != stored) return bad_file("found a checksum that does not match, expected an intact model file");
  return payload.substr(kForestMagic.size());
}

}  // namespace

Result<LearnedModel> parse_forest_file(std::string_view bytes) {
  TRY_ASSIGN(const std::string_view payload, checked_payload(bytes));
  ByteReader in(payload);
  const auto version = in.take<std::uint32_t>();
  if (version != kVersion)
    return bad_file("found version " + std::to_string(version) + ", expected " + std::to_string(kVersion));
  const auto length = in.take<std::uint32_t>();
  if (length > kMaxText)
    return bad_file("found a text of " + std::to_string(length) + " bytes, expected at most " +
                    std::to_string(kMaxText));
  LearnedModel model;
  const std::string_view text = in.text(length);
  if (in.failed()) return truncated();
  TRY(parse_text(text, model));
  TRY_ASSIGN(const Thresholds thresholds, parse_thresholds(in, model.features.size()));
  TRY_ASSIGN(model.median, parse_forest(in, thresholds));
  TRY_ASSIGN(model.low, parse_forest(in, thresholds));
  TRY_ASSIGN(model.high, parse_forest(in, thresholds));
  if (!in.empty()) return bad_file("found bytes after the last forest, expected the end");
  return model;
}

}  // namespace distsim::opmodels
