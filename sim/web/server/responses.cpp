#include "sim/web/server/responses.hpp"

#include <utility>

namespace distsim::web {

Response response_of(http::status status, std::string_view type, std::string text) {
  Response out{status, 11};
  out.set(http::field::content_type, beast::string_view(type.data(), type.size()));
  out.set("X-Content-Type-Options", "nosniff");
  out.set("Referrer-Policy", "no-referrer");
  out.set("Cross-Origin-Opener-Policy", "same-origin");
  out.set("Cross-Origin-Resource-Policy", "same-origin");
  out.set(http::field::cache_control, "no-store");
  out.body() = std::move(text);
  return out;
}

Response refusal(http::status status, std::string text) {
  return response_of(status, "text/plain; charset=utf-8", std::move(text) + "\n");
}

}  // namespace distsim::web
