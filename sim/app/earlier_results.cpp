#include "sim/app/earlier_results.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/system/inputs/open_input.hpp"
#include "base/text/printable.hpp"

namespace distsim::app {

EarlierResults::EarlierResults(bool nothing, const std::vector<std::string>& outputs) {
  std::error_code unknown;
  for (const std::string& path : outputs) {
    if (path == "-" || own_descriptor(path)) continue;  // standard output, wherever that goes: nothing is replaced
    if (nothing && std::filesystem::is_regular_file(path, unknown)) kept_.push_back(path);
  }
}

bool EarlierResults::gives_way(const std::string& path) const {
  return !path.empty() && std::ranges::find(kept_, path) == kept_.end();
}

std::string EarlierResults::unchanged() const {
  std::string out;
  for (const std::string& path : kept_) out += (out.empty() ? "unchanged: " : ", ") + printable(path, 200);
  return out;
}

}  // namespace distsim::app
