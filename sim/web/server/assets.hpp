// The files of the page, compiled in.
#pragma once

#include <optional>
#include <string_view>

namespace distsim::web {

struct Asset {
  std::string_view name, type, text;
  bool is_forever = false;  ///< named by its content: another text has another name
};

/// By the path of its URL; nothing where there is none.
std::optional<Asset> asset_at(std::string_view path);

/// "sha256-...": of the style sheet within the page, for its Content-Security-Policy.
std::string_view style_hash();

/// The text of an asset as gzip, made when it is first asked for. May be called by several threads.
std::string_view packed_text(const Asset& asset);

}  // namespace distsim::web
