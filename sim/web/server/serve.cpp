#include "sim/web/serve.hpp"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "base/system/folder.hpp"
#include "base/text/printable.hpp"
#include "sim/config/config.hpp"
#include "sim/web/answers/secret.hpp"
#include "sim/web/server/asio.hpp"
#include "sim/web/server/browser_start.hpp"
#include "sim/web/server/connection.hpp"
#include "sim/web/server/house.hpp"

namespace distsim::web {
namespace {

/// What a page begins with where no experiment is given.
constexpr const char* kFirstText =
    "title: DLRM (MLPerf) on 4 x DGX A100\n"
    "\n"
    "cluster:\n"
    "  system: dgx_a100_80gb\n"
    "  nodes: 4\n"
    "\n"
    "model:\n"
    "  name: dlrm_mlperf\n"
    "  global_batch: 65536\n"
    "\n"
    "framework:\n"
    "  name: pytorch_dlrm\n"
    "  embedding:\n"
    "    bottom_mlp_on_one_rank: false\n";

constexpr std::size_t kMostFirstText = 256 << 10;

/// Whether this machine lacks the address, or its kind: no other error is the fault of --listen.
bool is_about_address(boost::system::error_code error) {
  constexpr int kCodes[] = {EADDRNOTAVAIL, EAFNOSUPPORT, EINVAL, ENETUNREACH, ENODEV, EPROTONOSUPPORT};
  return std::ranges::find(kCodes, error.value()) != std::end(kCodes);
}

Result<tcp::acceptor> listener(net::io_context& io, const ServeOptions& options) {
  boost::system::error_code error;
  const auto address = net::ip::make_address(options.listen, error);
  if (error)
    return Error{
        "--listen: found " + in_quotes(options.listen) + ", expected an address of this machine, e.g. 127.0.0.1", "",
        ""};
  tcp::acceptor out(io);
  const tcp::endpoint endpoint(address, static_cast<std::uint16_t>(options.port));
  out.open(endpoint.protocol(), error);
  if (!error) out.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) out.bind(endpoint, error);
  if (!error) out.listen(net::socket_base::max_listen_connections, error);
  if (!error) return out;
  if (error == net::error::address_in_use)
    return Error{"--port: found " + std::to_string(options.port) + ", which another program uses, expected a free one",
                 "", "--port 0 picks one"};
  if (error == net::error::access_denied)
    return Error{"--port: found " + std::to_string(options.port) + ", which only root may use, expected one above 1023",
                 "", "--port 0 picks one"};
  if (!is_about_address(error)) throw boost::system::system_error(error);
  return Error{"--listen: found " + in_quotes(options.listen) + ", expected an address of this machine", "",
               error.message()};
}

/// As many as may be open, but for files that predictions read.
std::size_t connections_allowed() {
  constexpr rlim_t kOurs = 64;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMostConnections;
  const rlim_t wanted = std::min<rlim_t>(limit.rlim_max, kMostConnections + kOurs);
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = wanted;
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
  }
  return std::min<std::size_t>(kMostConnections, limit.rlim_cur > 2 * kOurs ? limit.rlim_cur - kOurs : kOurs);
}

net::awaitable<void> accept_all(tcp::acceptor& acceptor, House& house) {
  net::steady_timer pause(acceptor.get_executor());
  while (acceptor.is_open()) {
    boost::system::error_code error;
    tcp::socket socket = co_await acceptor.async_accept(net::redirect_error(net::use_awaitable, error));
    if (error == net::error::operation_aborted) co_return;
    if (error) {  // too many open files, say: others will be closed
      pause.expires_after(std::chrono::milliseconds(50));
      co_await pause.async_wait(net::redirect_error(net::use_awaitable, error));
      continue;
    }
    if (house.connections >= house.most_connections) {
      socket.close(error);
      continue;
    }
    net::co_spawn(acceptor.get_executor(), serve_connection(std::move(socket), house), net::detached);
  }
}

/// Those that the process was not started to ignore.
void add_unless_ignored(net::signal_set& signals, int signal) {
  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) signals.add(signal);
}

std::string url_of(const tcp::endpoint& at, const std::string& token) {
  std::string host = at.address().is_unspecified() ? "127.0.0.1" : at.address().to_string();
  if (at.address().is_v6()) host = at.address().is_unspecified() ? "[::1]" : "[" + host + "]";
  return "http://" + host + ":" + std::to_string(at.port()) + "/?token=" + token;
}

/// What is named must be there; what it is, is seen when a page asks for it.
Result<void> check_traces(const std::vector<std::string>& traces) {
  for (const std::string& path : traces) {
    std::error_code error;
    if (std::filesystem::exists(path, error) || !paths_matching(path).empty()) continue;
    return Error{"found no such trace, expected a file, a folder or a pattern that some match", path, ""};
  }
  return {};
}

void warn_of_others(const tcp::endpoint& at) {
  if (at.address().is_loopback()) return;
  log_warn([&] {
    return "--listen " + at.address().to_string() +
           ": other machines reach this server; whoever has the URL can use it, and it is sent unencrypted";
  });
}

Result<void> served(const ServeOptions& options) {
  std::string text = kFirstText;
  if (!options.config.empty()) {
    TRY_ASSIGN(text, read_file(options.config, kMostFirstText));
    TRY(config::parse_experiment(options.config, {}));
  }
  TRY(check_traces(options.traces));
  Answers answers(options.config, text, options.traces);
  Workers quick(std::clamp(std::thread::hardware_concurrency(), 1u, 8u)), studies(2), files(1);
  std::optional<Gate> gate;
  std::optional<House> house;
  net::io_context io(1);
  TRY_ASSIGN(tcp::acceptor acceptor, listener(io, options));
  const tcp::endpoint at = acceptor.local_endpoint();
  gate.emplace(at.address().to_string(), at.address().is_loopback(), at.port(), random_secret());
  house.emplace(answers, *gate, quick, studies, files, connections_allowed());
  net::signal_set signals(io);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) add_unless_ignored(signals, signal);
  signals.async_wait([&](boost::system::error_code error, int) {
    if (!error) io.stop();
  });
  net::co_spawn(io, accept_all(acceptor, *house), net::detached);
  warn_of_others(at);
  const std::string url = url_of(at, gate->token());
  TRY(print(url + "\n"));
  BrowserStart browser(io, answers.private_folder());
  if (options.open) browser.open(url);
  io.run();
  house->begun.stop_all();
  answers.private_folder().remove();
  signals.clear();  // a second signal ends the process at once
  quick.stop();
  studies.stop();
  files.stop();
  return {};
}

}  // namespace

Result<void> serve(const ServeOptions& options) {
  try {
    return served(options);
  } catch (const boost::system::system_error& refused) {  // no std::system_error, which a program says in a line
    throw std::system_error(std::error_code(refused.code()));
  }
}

}  // namespace distsim::web
