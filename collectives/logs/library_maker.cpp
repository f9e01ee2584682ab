#include "collectives/logs/library_maker.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/check.hpp"
#include "base/text/lower_case.hpp"
#include "topology/devices/device_names.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::collectives {
namespace {

/// Letters and digits that stand together.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t begin = 0, at = 0; at <= text.size(); ++at) {
    if (at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0) continue;
    if (at > begin) out.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  return out;
}

/// "hip" of "hip6".
std::string without_number(std::string_view part) {
  while (!part.empty() && is_digit(part.back())) part.remove_suffix(1);
  return lower_case(part);
}

/// 2804, 22705: NCCL_VERSION_CODE.
bool is_version_code(std::string_view part) { return part.size() >= 4 && std::ranges::all_of(part, is_digit); }

}  // namespace

std::string_view name_of(Maker maker) {
  switch (maker) {
    case Maker::nvidia:
      return "NVIDIA";
    case Maker::amd:
      return "AMD";
    case Maker::intel:
      return "Intel";
    case Maker::unknown:
      break;
  }
  CHECK(false) << "an unknown maker has no name";
  return "";
}

Maker maker_of_device(std::int64_t compute_capability) {
  if (compute_capability <= 0) return Maker::unknown;
  return topology::is_amd(compute_capability) ? Maker::amd : Maker::nvidia;
}

Maker maker_of_library(std::string_view library) {
  const std::vector<std::string_view> parts = parts_of(library);
  bool amd = false, intel = false, nvidia = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string word = without_number(parts[i]);
    amd = amd || word == "rccl" || word == "rocm" || word == "hip";
    intel = intel || word == "sycl" || word == "oneccl";
    const bool is_code = i + 1 < parts.size() && is_version_code(parts[i + 1]);
    nvidia = nvidia || word == "cuda" || (parts[i] == "NCCL" && !is_code);
  }
  return amd ? Maker::amd : intel ? Maker::intel : nvidia ? Maker::nvidia : Maker::unknown;
}

std::string other_makers_library(const CurveSet& set, Maker device) {
  const bool names_gpu = !set.listed_gpu.empty() || topology::is_driver_name(set.hardware);
  if (device == Maker::unknown || names_gpu) return "";
  for (const Curve& c : set.curves) {
    const Maker maker = maker_of_library(c.library);
    if (c.not_used.empty() && maker != Maker::unknown && maker != device) return c.library;
  }
  return "";
}

}  // namespace distsim::collectives
