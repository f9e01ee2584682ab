// What a server of pages reads from anybody: requests, messages of a WebSocket, and the members of a message.
#include <algorithm>

#include <boost/beast/_experimental/test/stream.hpp>

#include "fuzz_target.hpp"
#include "sim/web/answers/answers.hpp"
#include "sim/web/answers/yaml_edit.hpp"
#include "sim/web/files/private_folder.hpp"
#include "sim/web/gate.hpp"
#include "sim/web/messages/body.hpp"
#include "sim/web/server/asio.hpp"
#include "sim/web/server/house.hpp"
#include "sim/web/server/receive.hpp"

namespace distsim::fuzz {
namespace {

using namespace distsim::web;  // NOLINT

const Gate& gate() {
  static const Gate one("127.0.0.1", true, 8080, std::string(32, 'a'));
  return one;
}

/// As connection.cpp has it read, and what it asks of a request.
void read_request(std::string_view text) {
  http::request_parser<http::empty_body> parser;
  parser.header_limit(kMostHeader);
  parser.body_limit(Uploads::kMostFileBytes);
  beast::error_code error;
  parser.put(net::buffer(text.data(), text.size()), error);
  if (error || !parser.is_header_done()) return;
  const auto& request = parser.get();
  const auto view = [](beast::string_view part) { return std::string_view(part.data(), part.size()); };
  const std::string_view target = view(request.target()), host = view(request[http::field::host]);
  const std::string_view query = target.substr(std::min(target.find('?'), target.size()));
  (void)gate().knows_host(host);
  (void)Gate::knows_origin(view(request[http::field::origin]), host);
  CHECK(!gate().knows_token(query) || query.find(std::string(32, 'a')) != std::string_view::npos);
  const std::string name = plain_file_name(value_in_query(query, "name"));
  CHECK(!name.empty() && name.size() <= 100 && name.find('/') == std::string::npos && name.front() != '.');
}

void read_one(const std::string& text) {
  Result<Message> message = read_message(text);
  check_answer(message);
  if (!message.ok()) return;
  const nlohmann::json& body = message->body;
  check_answer(string_in(body, "text"));
  check_answer(strings_in(body, "vary", 8));
  check_answer(integer_within(body, "nodes", 1, 100, 1));
  check_answer(amount_in(body, "price"));
  (void)dumped(body);
  static const auto running = std::make_shared<std::atomic<bool>>(false);
  // Its lists are read by a thread, which a short run must not leave behind: what it reads with is destroyed at the end.
  static Answers& answers = [&]() -> Answers& {
    static Answers out("", "");
    Message lists;
    lists.type = MessageType::lists;
    CHECK(nlohmann::json::accept(out.to(lists, {running, [](const std::string&) {}})));
    return out;
  }();
  constexpr MessageType kQuick[] = {MessageType::op,     MessageType::collective, MessageType::one_case,
                                    MessageType::traces, MessageType::trace,      MessageType::replay};
  if (std::ranges::find(kQuick, message->type) != std::end(kQuick) && text.size() < 2'000)
    CHECK(nlohmann::json::accept(answers.to(*message, {running, [](const std::string&) {}})));
  const auto edits = body.find("edits");
  const auto experiment = body.find("text");
  if (edits == body.end() || !edits->is_array() || experiment == body.end() || !experiment->is_string()) return;
  std::vector<Edit> list;
  for (const nlohmann::json& e : *edits) {
    if (e.is_object() && e.contains("key") && e["key"].is_string() && e.contains("value") && e["value"].is_string() &&
        list.size() < 4)
      list.push_back({e["key"].get<std::string>(), e["value"].get<std::string>()});
  }
  check_answer(edited(experiment->get<std::string>(), "fuzz.yaml", list));
}

/// Frames behind a handshake, as Talk has them read.
void read_frames(std::string_view frames) {
  static constexpr std::string_view kUpgrade =
      "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
  net::io_context io;
  beast::test::stream client(io), server(io);
  client.connect(server);
  client.write_some(net::buffer(kUpgrade));
  if (!frames.empty()) client.write_some(net::buffer(frames.data(), frames.size()));
  client.close();
  websocket::stream<beast::test::stream> socket(std::move(server));
  socket.read_message_max(kMostMessage);
  beast::error_code error;
  socket.accept(error);
  beast::flat_buffer buffer;
  while (!error) {
    socket.read(buffer, error);
    if (!error && socket.got_text()) read_one(beast::buffers_to_string(buffer.data()));
    CHECK(buffer.size() <= kMostMessage);
    buffer.consume(buffer.size());
  }
}

}  // namespace
}  // namespace distsim::fuzz

/// The first byte says what it is.
FUZZ_TARGET(web) {
  using namespace distsim::fuzz;
  if (text.empty()) return;
  const std::string_view rest = text.substr(1);
  if (text.front() == 'H') return read_request(rest);
  if (text.front() == 'F') return read_frames(rest);
  read_one(std::string(text));
}
