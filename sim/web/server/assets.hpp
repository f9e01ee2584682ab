// The files of the page, compiled in.
#pragma once

#include <optional>
#include <string_view>

namespace distsim::web {

struct Asset {
  std::string_view path, type, text;
};

/// By the path of its URL; nothing where there is none.
std::optional<Asset> asset_at(std::string_view path);

}  // namespace distsim::web
