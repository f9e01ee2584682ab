#include "sim/web/server/connection.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/web/server/assets.hpp"
#include "sim/web/server/receive.hpp"
#include "sim/web/server/responses.hpp"
#include "sim/web/server/talk.hpp"

namespace distsim::web {
namespace {

using Request = http::request<http::empty_body>;

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

constexpr std::string_view kUploadPath = "/upload";

struct Target {
  std::string_view path, query;
};

Target target_of(const Request& request) {
  const std::string_view text = view(request.target());
  const std::size_t mark = text.find('?');
  if (mark == std::string_view::npos) return {text, ""};
  return {text.substr(0, mark), text.substr(mark + 1)};
}

/// "gzip, deflate, br" takes gzip, "gzip;q=0" does not.
bool takes_gzip(std::string_view accepted) {
  for (std::size_t begin = 0; begin < accepted.size();) {
    const std::size_t end = std::min(accepted.find(',', begin), accepted.size());
    std::string_view coding = accepted.substr(begin, end - begin);
    coding.remove_prefix(std::min(coding.find_first_not_of(' '), coding.size()));
    const std::size_t semicolon = std::min(coding.find(';'), coding.size());
    if (coding.substr(0, coding.find_first_of("; ")) == "gzip")
      return coding.substr(semicolon).find_first_of("123456789") != std::string_view::npos ||
             semicolon == coding.size();
    begin = end + 1;
  }
  return false;
}

/// Scripts, pictures and connections of this server only; nothing inline but the page's one style sheet.
Response asset_response(const Asset& asset, const Request& request) {
  const bool is_packed = takes_gzip(view(request[http::field::accept_encoding]));
  Response out = response_of(http::status::ok, asset.type, std::string(is_packed ? packed_text(asset) : asset.text));
  if (is_packed) out.set(http::field::content_encoding, "gzip");
  out.set(http::field::vary, "Accept-Encoding");
  if (asset.is_forever) out.set(http::field::cache_control, "max-age=31536000, immutable");
  out.set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src '" + std::string(style_hash()) +
                                         "'; img-src 'self' data: blob:; connect-src 'self' ws://" +
                                         std::string(view(request[http::field::host])) +
                                         "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  return out;
}

/// "/file/ID/NAME".
Response file_response(std::string_view path, KeptFiles& files) {
  constexpr std::string_view kBegin = "/file/";
  const std::string_view rest = path.substr(kBegin.size());
  const auto file = files.find(rest.substr(0, rest.find('/')));
  if (!file || rest.substr(std::min(rest.size(), rest.find('/') + 1)) != file->name)
    return refusal(http::status::not_found, "This file is no longer kept; ask for it again on the page.");
  Response out = response_of(http::status::ok, file->type, file->text);
  out.set(http::field::content_disposition, "attachment; filename=\"" + file->name + "\"");
  out.set("Content-Security-Policy", "default-src 'none'; sandbox");
  return out;
}

/// Why a request is refused before its path is looked at.
std::optional<Response> refused(const Request& request, const Gate& gate) {
  const std::string_view host = view(request[http::field::host]);
  if (request.count(http::field::host) != 1 || !gate.knows_host(host))
    return refusal(http::status::misdirected_request, "Host: expected the address in the URL that distsim printed.");
  if (request.count(http::field::origin) > 1 || !Gate::knows_origin(view(request[http::field::origin]), host))
    return refusal(http::status::forbidden, "Origin: expected this page.");
  const bool sends_file = target_of(request).path == kUploadPath;
  if (request.method() == (sends_file ? http::verb::post : http::verb::get)) return std::nullopt;
  const std::string expected = sends_file ? "POST" : "GET";
  Response out = refusal(http::status::method_not_allowed, "Expected " + expected + ".");
  out.set(http::field::allow, expected);
  return out;
}

Response respond(const Request& request, House& house) {
  const auto [path, query] = target_of(request);
  const std::optional<Asset> asset = asset_at(path);
  if (asset && path != "/") return asset_response(*asset, request);  // the same for everybody
  const bool is_file = path.starts_with("/file/");
  if (!asset && !is_file && path != "/ws") return refusal(http::status::not_found, "There is no such page.");
  if (!house.gate.knows_token(query))
    return refusal(http::status::forbidden, "Open the URL that distsim printed: it ends in ?token=...");
  if (is_file) return file_response(path, house.answers.files());
  if (asset) return asset_response(*asset, request);
  return refusal(http::status::upgrade_required, "Expected a WebSocket.");
}

/// What the client sent that is no request that can be answered.
std::optional<Response> answer_to_broken(beast::error_code error) {
  if (error == http::error::body_limit)
    return refusal(http::status::payload_too_large, "The request is larger than 2 GiB.");
  if (error == http::error::header_limit)
    return refusal(http::status::request_header_fields_too_large, "The request's header is longer than 16 KiB.");
  const bool is_broken = error.category() == make_error_code(http::error::bad_method).category() &&
                         error != http::error::end_of_stream && error != http::error::partial_message;
  return is_broken ? std::optional(refusal(http::status::bad_request, "This is no HTTP request.")) : std::nullopt;
}

net::awaitable<beast::error_code> send(beast::tcp_stream& stream, Response& response) {
  beast::error_code error;
  response.prepare_payload();
  stream.expires_after(kSendTime);
  co_await http::async_write(stream, response, net::redirect_error(net::use_awaitable, error));
  co_return error;
}

/// Nothing is read of a file from somebody who may not send one.
net::awaitable<Response> answer_to_file(beast::tcp_stream& stream, beast::flat_buffer& buffer,
                                        http::request_parser<http::empty_body>& header, House& house) {
  const std::string query(target_of(header.get()).query);
  if (!house.gate.knows_token(query))
    co_return refusal(http::status::forbidden, "Open the URL that distsim printed: it ends in ?token=...");
  co_return co_await receive_file(stream, buffer, header, query, house);
}

bool asks_for_talk(const Request& request) {
  return websocket::is_upgrade(request) && target_of(request).path == "/ws";
}

/// With what the client still sends read, so that it sees the answer and no reset.
net::awaitable<void> close_softly(beast::tcp_stream& stream) {
  beast::error_code error;
  stream.socket().shutdown(tcp::socket::shutdown_send, error);
  stream.expires_after(std::chrono::seconds(1));
  std::array<char, 4096> rest{};
  for (int i = 0; i < 64 && !error; ++i)
    co_await stream.async_read_some(net::buffer(rest), net::redirect_error(net::use_awaitable, error));
}

}  // namespace

net::awaitable<void> serve_connection(tcp::socket socket, House& house) {
  const Counted counted(house.connections);
  beast::error_code error;
  socket.set_option(tcp::no_delay(true), error);
  beast::tcp_stream stream(std::move(socket));
  beast::flat_buffer buffer(kMostHeader + 4096);
  for (bool keep = true; keep;) {
    http::request_parser<http::empty_body> parser;
    parser.header_limit(kMostHeader);
    parser.body_limit(Uploads::kMostFileBytes);
    stream.expires_after(kHeaderTime);
    co_await http::async_read_header(stream, buffer, parser, net::redirect_error(net::use_awaitable, error));
    if (error) {
      if (auto answer = answer_to_broken(error)) {
        answer->keep_alive(false);
        co_await send(stream, *answer);
        co_await close_softly(stream);
      }
      co_return;
    }
    std::optional<Response> answer = refused(parser.get(), house.gate);
    const bool sends_file = !answer && target_of(parser.get()).path == kUploadPath;
    if (sends_file) {
      answer = co_await answer_to_file(stream, buffer, parser, house);
      answer->keep_alive(false);
      co_await send(stream, *answer);
      break;
    }
    Request request = parser.release();
    const bool talks = !answer && asks_for_talk(request) && house.gate.knows_token(target_of(request).query);
    if (talks && house.pages < kMostPages) {
      const auto talk = std::make_shared<Talk>(std::move(stream), house);
      co_await talk->run(std::move(request));
      co_return;
    }
    if (talks) answer = refusal(http::status::service_unavailable, "Too many pages are open.");
    if (!answer) answer = respond(request, house);
    keep = request.keep_alive() && !request.has_content_length() && !request.chunked();
    answer->keep_alive(keep);
    answer->version(request.version());
    error = co_await send(stream, *answer);
    if (error) co_return;
  }
  co_await close_softly(stream);
}

}  // namespace distsim::web
