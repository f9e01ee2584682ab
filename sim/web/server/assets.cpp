#include "sim/web/server/assets.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <string>

#include "base/check.hpp"
#include "web/assets_text.hpp"

namespace distsim::web {
namespace {

constexpr std::string_view kIndex = "index.html", kStyleHash = "style.sha256";

constexpr std::string_view type_of(std::string_view name) {
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  return name.ends_with(".svg") ? "image/svg+xml" : "text/html; charset=utf-8";
}

std::string gzip_of(std::string_view text) {
  constexpr int kGzip = 15 + 16;  // the largest window, with the header of gzip
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string out(deflateBound(&stream, text.size()), '\0');
  // zlib's type of what it reads and does not change.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int end = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  CHECK(end == Z_STREAM_END) << "deflate: " << end;
  return out;
}

static_assert(std::ranges::find(kPageAssets, kStyleHash, &PageAsset::name) != std::end(kPageAssets));

}  // namespace

std::optional<Asset> asset_at(std::string_view path) {
  if (!path.starts_with('/')) return std::nullopt;
  const std::string_view name = path == "/" ? kIndex : path.substr(1);
  if ((path != "/" && name == kIndex) || name == kStyleHash) return std::nullopt;
  const auto* const it = std::ranges::find(kPageAssets, name, &PageAsset::name);
  if (it == std::end(kPageAssets)) return std::nullopt;
  return Asset{it->name, type_of(it->name), it->text, it->name.find('-') != std::string_view::npos};
}

std::string_view style_hash() { return std::ranges::find(kPageAssets, kStyleHash, &PageAsset::name)->text; }

std::string_view packed_text(const Asset& asset) {
  struct Packed {
    std::once_flag once;
    std::string text;
  };
  static std::array<Packed, std::size(kPageAssets)> all;
  const auto* const it = std::ranges::find(kPageAssets, asset.name, &PageAsset::name);
  CHECK(it != std::end(kPageAssets)) << asset.name;
  Packed& packed = all[static_cast<std::size_t>(it - std::begin(kPageAssets))];
  std::call_once(packed.once, [&] { packed.text = gzip_of(it->text); });
  return packed.text;
}

}  // namespace distsim::web
