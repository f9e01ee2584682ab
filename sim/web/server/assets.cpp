#include "sim/web/server/assets.hpp"

#include <algorithm>
#include <array>

#include "sim/report/html/page.hpp"
#include "web/assets_text.hpp"

namespace distsim::web {
namespace {

const std::array kAssets{Asset{"/", "text/html; charset=utf-8", kIndexHtml},
                         Asset{"/app.js", "text/javascript; charset=utf-8", report::page_script()},
                         Asset{"/app.css", "text/css; charset=utf-8", report::page_style()},
                         Asset{"/icon.svg", "image/svg+xml", kIconSvg}};

}  // namespace

std::optional<Asset> asset_at(std::string_view path) {
  const auto it = std::ranges::find(kAssets, path, &Asset::path);
  return it == kAssets.end() ? std::nullopt : std::optional(*it);
}

}  // namespace distsim::web
