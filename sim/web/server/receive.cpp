#include "sim/web/server/receive.hpp"

#include <boost/asio/write.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json/json_text.hpp"
#include "base/text/printable.hpp"

namespace distsim::web {
namespace {

constexpr std::size_t kPart = 256 << 10;
constexpr std::chrono::seconds kPartTime{60};  ///< for so many bytes
constexpr std::size_t kMostReceiving = 8;

struct CloseFile {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// Calls `work` on the thread for files, and goes on when it is done: a slow disk keeps nobody else waiting.
/// `work` is moved from. (By reference: gcc 12 destroys temporaries of what is awaited twice.)
net::awaitable<bool> on_files_thread(House& house, std::function<bool()>& work) {
  struct State {
    explicit State(const net::any_io_executor& executor) : news(executor, net::steady_timer::time_point::max()) {}
    net::steady_timer news;
    bool is_done = false, is_good = false;
  };
  const auto executor = co_await net::this_coro::executor;
  const auto state = std::make_shared<State>(executor);
  house.files.give([state, executor, work = std::move(work)] {
    const bool is_good = work();
    net::post(executor, [state, is_good] {
      state->is_done = true;
      state->is_good = is_good;
      state->news.cancel();
    });
  });
  beast::error_code ignored;
  while (!state->is_done) co_await state->news.async_wait(net::redirect_error(net::use_awaitable, ignored));
  co_return state->is_good;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// With %20 and the like read.
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? digit_of(text[i + 1]) : -1, low = high < 0 ? -1 : digit_of(text[i + 2]);
    if (low < 0) return "";
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

/// curl and others send a large body only when they are told to.
net::awaitable<void> tell_to_go_on(beast::tcp_stream& stream, const http::request_parser<http::buffer_body>& parser) {
  if (!beast::iequals(parser.get()[http::field::expect], "100-continue")) co_return;
  static constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
  beast::error_code ignored;
  stream.expires_after(kSendTime);
  co_await net::async_write(stream, net::buffer(kGoOn), net::redirect_error(net::use_awaitable, ignored));
}

/// The body into the file; what went wrong, if anything.
net::awaitable<std::optional<Response>> write_body(beast::tcp_stream& stream, beast::flat_buffer& buffer,
                                                   http::request_parser<http::buffer_body>& parser, std::FILE* file,
                                                   House& house, std::uint64_t& bytes) {
  const auto part = std::make_shared<std::vector<char>>(kPart);
  while (!parser.is_done()) {
    parser.get().body().data = part->data();
    parser.get().body().size = part->size();
    stream.expires_after(kPartTime);
    beast::error_code error;
    co_await http::async_read(stream, buffer, parser, net::redirect_error(net::use_awaitable, error));
    if (error && error != http::error::need_buffer) {
      if (error == http::error::body_limit)
        co_return refusal(http::status::payload_too_large, "The file is larger than 2 GiB.");
      co_return refusal(http::status::bad_request, "The file did not arrive as a whole.");
    }
    const std::size_t size = part->size() - parser.get().body().size;
    bytes += size;
    if (size == 0) continue;
    std::function<bool()> write = [part, size, file] { return std::fwrite(part->data(), 1, size, file) == size; };
    const bool written = co_await on_files_thread(house, write);
    if (!written)
      co_return refusal(http::status::insufficient_storage, "There is no room for the file on this machine.");
  }
  co_return std::nullopt;
}

}  // namespace

std::string value_in_query(std::string_view query, std::string_view name) {
  for (std::size_t begin = 0; begin <= query.size();) {
    const std::size_t end = std::min(query.find('&', begin), query.size());
    const std::string_view part = query.substr(begin, end - begin);
    if (part.starts_with(name) && part.substr(name.size()).starts_with('='))
      return decoded(part.substr(name.size() + 1));
    begin = end + 1;
  }
  return "";
}

namespace {

/// A name that the query has and no file's may have, such as a misspelt one or the same once more. Empty: none.
std::string foreign_in_query(std::string_view query) {
  std::set<std::string_view> seen;
  for (std::size_t begin = 0; begin < query.size();) {
    const std::size_t end = std::min(query.find('&', begin), query.size());
    const std::string_view part = query.substr(begin, end - begin), name = part.substr(0, part.find('='));
    if (!name.empty() && name != "token" && name != "name") return std::string(name);
    if (!name.empty() && !seen.insert(name).second) return std::string(name) + " twice";
    begin = end + 1;
  }
  return "";
}

}  // namespace

net::awaitable<Response> receive_file(beast::tcp_stream& stream, beast::flat_buffer& buffer,
                                      http::request_parser<http::empty_body>& header, const std::string& query,
                                      House& house) {
  if (house.receiving >= kMostReceiving)
    co_return refusal(http::status::service_unavailable, "Too many files are being sent; send it again in a while.");
  const Counted counted(house.receiving);
  http::request_parser<http::buffer_body> parser(std::move(header));
  if (!parser.content_length() && !parser.chunked())
    co_return refusal(http::status::length_required, "Expected a Content-Length.");
  if (const std::string foreign = foreign_in_query(query); !foreign.empty())
    co_return refusal(http::status::bad_request,
                      "The URL has " + printable(foreign, 60) + "; expected token and name only.");
  Result<Upload> upload = house.answers.uploads().begin(value_in_query(query, "name"));
  if (!upload.ok()) co_return refusal(http::status::insufficient_storage, upload.error().text());
  co_await tell_to_go_on(stream, parser);
  File file(std::fopen(upload->path.c_str(), "wbx"));
  std::optional<Response> wrong;
  if (file == nullptr)
    wrong = refusal(http::status::insufficient_storage, "There is no room for the file on this machine.");
  else
    wrong = co_await write_body(stream, buffer, parser, file.get(), house, upload->bytes);
  std::function<bool()> close = [raw = file.release()] { return raw != nullptr && std::fclose(raw) == 0; };
  const bool is_closed = co_await on_files_thread(house, close);
  if (!wrong && !is_closed)
    wrong = refusal(http::status::insufficient_storage, "There is no room for the file on this machine.");
  if (wrong) {
    Uploads::drop(*upload);
    co_return std::move(*wrong);
  }
  const nlohmann::json answer{{"file", upload->id}, {"name", upload->name}, {"bytes", upload->bytes}};
  house.answers.uploads().finish(std::move(*upload));
  co_return response_of(http::status::created, "application/json", json_text(answer));
}

}  // namespace distsim::web
