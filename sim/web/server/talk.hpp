// The conversation with one page over its WebSocket.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "sim/web/server/asio.hpp"
#include "sim/web/server/house.hpp"

namespace distsim::web {

/// All members are used by the server's thread only; workers post what they have to say.
class Talk : public std::enable_shared_from_this<Talk> {
 public:
  Talk(beast::tcp_stream stream, House& house);
  ~Talk();

  /// Ends when the page does.
  net::awaitable<void> run(http::request<http::empty_body> upgrade);

 private:
  /// One answer at a time of each of the two kinds, so that a study keeps no slider waiting.
  struct Lane {
    explicit Lane(net::any_io_executor executor) : patience(executor) {}
    std::deque<Message> waiting;
    bool is_busy = false;
    std::int64_t id = 0;                           ///< of the message that is answered
    MessageType type = MessageType::predict;       ///< its own
    bool is_told = false;                          ///< that its answer is not coming
    const char* why = "cancelled";                 ///< what is said of it when it is stopped
    std::shared_ptr<std::atomic<bool>> cancelled;  ///< stops the work on it
    net::steady_timer patience;
  };

  void take(const std::string& text);
  void add(Lane& lane, Message message);
  void cancel(const Message& message);
  bool drop(Lane& lane, std::int64_t id);
  static void stop(Lane& lane, const char* why);
  void begin_next(Lane& lane);
  void finish(Lane& lane, std::string answer);
  void watch(Lane& lane);
  void say(std::string line);
  net::awaitable<void> send_all();

  House& house_;
  websocket::stream<beast::tcp_stream> socket_;
  Lane quick_, study_;
  std::deque<std::string> unsent_;
  std::size_t unsent_bytes_ = 0;
  bool is_sending_ = false, is_over_ = false;
  Counted counted_;
};

}  // namespace distsim::web
