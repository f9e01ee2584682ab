#include "sim/web/serve.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "base/output.hpp"
#include "sim/app/commands.hpp"

namespace distsim::app {
namespace {

void declare_serve(CLI::App& self, Action& action) {
  auto options = std::make_shared<web::ServeOptions>();
  self.add_option("--config", options->config, "Experiment file that the page begins with")->check(refuse_empty);
  self.add_option("--port", options->port, "Port of the server (default 8080); 0: a free one")
      ->check(CLI::Range(0u, 65535u));
  self.add_option("--listen", options->listen,
                  "Address to listen on (default 127.0.0.1: only this machine reaches it)");
  self.add_flag("--open", options->open, "Open the page in a browser: $BROWSER, otherwise xdg-open");
  self.add_option("traces", options->traces,
                  "Trace files, folders or patterns that the page shows: the ranks of one job, as for distsim profile");
  self.callback([options, &action] { action = [options] { return web::serve(*options); }; });
}

constexpr Refusal kServeRefuses[] = {
    {"--port 65536", "--port"},
    {"--port http", "--port"},
    {"--config configs/dgx_a100_4node.yaml --port -1", "--port"},
    {"--port 0 no_such_trace.json", "no_such_trace.json"},
};

}  // namespace

const Command serve_command{
    .name = "serve",
    .description = "Serve a page in the browser: change any key and see the prediction answer",
    .refuses = kServeRefuses,
    .declare = declare_serve,
};

}  // namespace distsim::app
