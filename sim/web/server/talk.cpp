#include "sim/web/server/talk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace distsim::web {

Talk::Talk(beast::tcp_stream stream, House& house)
    : house_(house),
      socket_(std::move(stream)),
      quick_(socket_.get_executor()),
      study_(socket_.get_executor()),
      counted_(house.pages) {}

Talk::~Talk() {
  for (const Lane* lane : {&quick_, &study_}) {
    if (lane->cancelled) *lane->cancelled = true;
  }
}

net::awaitable<void> Talk::run(http::request<http::empty_body> upgrade) {
  const auto self = shared_from_this();
  beast::get_lowest_layer(socket_).expires_never();  // the WebSocket has times of its own
  websocket::stream_base::timeout times{};
  times.handshake_timeout = kHeaderTime;
  times.idle_timeout = kIdleTime;
  times.keep_alive_pings = true;
  socket_.set_option(times);
  socket_.read_message_max(kMostMessage);
  socket_.text(true);
  beast::error_code error;
  co_await socket_.async_accept(upgrade, net::redirect_error(net::use_awaitable, error));
  beast::flat_buffer buffer;
  while (!error) {
    co_await socket_.async_read(buffer, net::redirect_error(net::use_awaitable, error));
    if (error) break;
    if (!socket_.got_text()) {
      co_await socket_.async_close(websocket::close_reason(websocket::close_code::unknown_data),
                                   net::redirect_error(net::use_awaitable, error));
      break;
    }
    take(beast::buffers_to_string(buffer.data()));
    buffer.consume(buffer.size());
    if (is_over_) break;
  }
  is_over_ = true;
  for (Lane* lane : {&quick_, &study_}) {
    lane->waiting.clear();
    lane->patience.cancel();
    if (lane->cancelled) *lane->cancelled = true;
  }
  beast::get_lowest_layer(socket_).close();
}

void Talk::take(const std::string& text) {
  Result<Message> message = read_message(text);
  if (!message.ok()) return say(error_answer(id_in(text), message.error()));
  if (message->type == MessageType::cancel) return cancel(*message);
  Lane& lane = message->is_study() ? study_ : quick_;
  add(lane, std::move(*message));
}

/// A newer prediction takes the place of one that is waiting, and of one that is being worked on.
void Talk::add(Lane& lane, Message message) {
  if (message.type == MessageType::predict) {
    std::erase_if(lane.waiting, [&](const Message& older) {
      if (older.type != MessageType::predict) return false;
      say(plain_answer(older.id, "stale"));
      return true;
    });
    if (lane.is_busy && lane.type == MessageType::predict) stop(lane, "stale");
  }
  if (lane.waiting.size() >= kMostWaiting) return say(plain_answer(message.id, "busy"));
  lane.waiting.push_back(std::move(message));
  begin_next(lane);
}

/// {"id": its own, "type": "cancel", "of": id of a message}.
void Talk::cancel(const Message& message) {
  const auto of = message.body.find("of");
  const std::int64_t id = of != message.body.end() && of->is_number_integer() ? of->get<std::int64_t>() : 0;
  if (!drop(quick_, id)) drop(study_, id);
  say(plain_answer(message.id, "cancel"));
}

/// Whether there was such a message.
bool Talk::drop(Lane& lane, std::int64_t id) {
  const std::size_t dropped = std::erase_if(lane.waiting, [&](const Message& m) {
    if (m.id != id) return false;
    say(plain_answer(m.id, "cancelled"));
    return true;
  });
  if (dropped > 0) return true;
  if (!lane.is_busy || lane.id != id) return false;
  stop(lane, "cancelled");
  return true;
}

/// Its answer comes as soon as the work sees the flag (base/threads/stop.hpp).
void Talk::stop(Lane& lane, const char* why) {
  if (!*lane.cancelled) lane.why = why;
  *lane.cancelled = true;
}

void Talk::begin_next(Lane& lane) {
  if (lane.is_busy || lane.waiting.empty() || is_over_) return;
  lane.is_busy = true;
  lane.is_told = false;
  lane.why = "cancelled";
  auto message = std::make_shared<const Message>(std::move(lane.waiting.front()));
  lane.waiting.pop_front();
  lane.id = message->id;
  lane.type = message->type;
  lane.cancelled = std::make_shared<std::atomic<bool>>(false);
  if (&lane == &quick_) watch(lane);
  const auto post = [weak = weak_from_this(), executor = socket_.get_executor()](auto what) {
    net::post(executor, [weak, what = std::move(what)]() mutable {
      if (const auto talk = weak.lock()) what(*talk);
    });
  };
  const Meanwhile meanwhile{lane.cancelled, [post](std::string line) {
                              post([line = std::move(line)](Talk& talk) mutable { talk.say(std::move(line)); });
                            }};
  const auto which = &lane == &quick_ ? &Talk::quick_ : &Talk::study_;
  Workers& workers = &lane == &quick_ ? house_.quick : house_.studies;
  workers.give(
      [message, meanwhile, post, which, &answers = house_.answers, &begun = house_.begun, cancelled = lane.cancelled] {
        begun.add(cancelled);
        std::string answer = *cancelled ? "" : answers.to(*message, meanwhile);
        begun.remove(cancelled);
        post([which, answer = std::move(answer)](Talk& talk) mutable { talk.finish(talk.*which, std::move(answer)); });
      });
}

/// The page is told, and the work is stopped, so that its thread is free.
void Talk::watch(Lane& lane) {
  lane.patience.expires_after(kAnswerTime);
  lane.patience.async_wait([weak = weak_from_this(), &lane, id = lane.id](beast::error_code error) {
    const auto talk = weak.lock();
    if (error || !talk || !lane.is_busy || lane.id != id) return;
    lane.is_told = true;
    talk->say(plain_answer(id, "timeout"));
    stop(lane, "timeout");
  });
}

void Talk::finish(Lane& lane, std::string answer) {
  lane.patience.cancel();
  lane.is_busy = false;
  if (answer.empty() || answer == plain_answer(lane.id, "cancelled")) answer = plain_answer(lane.id, lane.why);
  if (answer.size() > kMostUnsent)
    answer = error_answer(lane.id, Error{fmt::format("found an answer of {} MiB, expected at most {} MiB for a page",
                                                     answer.size() >> 20, kMostUnsent >> 20),
                                         "", "the command line has no such limit"});
  if (!lane.is_told) say(std::move(answer));
  begin_next(lane);
}

void Talk::say(std::string line) {
  if (is_over_) return;
  if (unsent_bytes_ > kMostUnsent) {  // what waits already: one answer alone is no page that does not read
    is_over_ = true;
    return beast::get_lowest_layer(socket_).close();
  }
  unsent_bytes_ += line.size();
  unsent_.push_back(std::move(line));
  if (is_sending_) return;
  is_sending_ = true;
  net::co_spawn(
      socket_.get_executor(), [self = shared_from_this()] { return self->send_all(); }, net::detached);
}

net::awaitable<void> Talk::send_all() {
  beast::error_code error;
  while (!unsent_.empty() && !error && !is_over_) {
    const std::string line = std::move(unsent_.front());
    unsent_.pop_front();
    co_await socket_.async_write(net::buffer(line), net::redirect_error(net::use_awaitable, error));
    unsent_bytes_ -= line.size();
  }
  is_sending_ = false;
}

}  // namespace distsim::web
