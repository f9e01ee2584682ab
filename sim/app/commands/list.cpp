#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <memory>

#include "base/output.hpp"
#include "base/text/printable.hpp"
#include "collectives/collective_models.hpp"
#include "opmodels/op_models.hpp"
#include "sim/app/commands.hpp"
#include "sim/config/config.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/config/reference.hpp"
#include "sim/serving/policies/registry.hpp"
#include "sim/serving/spec/serving_spec.hpp"
#include "sim/workload/registry.hpp"
#include "traces/registry.hpp"

namespace distsim::app {
namespace {

constexpr std::size_t kLongestName = 255;  // bytes that file systems take

/// A name may be that of a file, and hold anything.
std::string entry(std::string_view name, std::string_view sentence) {
  return fmt::format("{:<36} {}\n", printable(name, kLongestName), sentence);
}

/// A broken file keeps its place in the list, with what is wrong with it.
std::string unreadable(const std::string& name, const Error& error) {
  return entry(name, "(cannot be read: " + error.text() + ")");
}

std::string gb(Bytes b) { return format_quantity(static_cast<double>(b.value()), Dimension::bytes); }

Result<std::string> list_devices() {
  std::string out;
  for (const auto& name : config::names_in("devices")) {
    const Result<topology::DeviceSpec> d = config::load_device(name);
    if (!d) {
      out += unreadable(name, d.error());
      continue;
    }
    out += entry(name, fmt::format("{}, {} SMs, {} at {}", d->architecture, d->sm_count, gb(d->hbm.capacity),
                                   format_quantity(d->hbm.bandwidth.value(), Dimension::bytes_per_second)));
  }
  return out;
}

Result<std::string> list_systems() {
  std::string out;
  for (const auto& name : config::names_in("systems")) {
    const Result<topology::ClusterSpec> c = config::load_system(name);
    if (!c) {
      out += unreadable(name, c.error());
      continue;
    }
    out += entry(name, c->description);
  }
  return out;
}

Result<std::string> list_models() {
  std::string out = "Kinds (model.kind):\n";
  for (const workload::ModelFamily* family : workload::model_families())
    out += "  " + entry(family->name, family->sentence);
  out += "\nFiles (model.name):\n";
  for (const auto& name : config::names_in("models")) {
    const Result<workload::ModelSpec> m = config::load_model(name);
    if (!m) {
      out += unreadable(name, m.error());
      continue;
    }
    out += "  " + entry(name, m->description);
  }
  const std::vector<std::string> templates = config::templates_in("models");
  if (!templates.empty()) out += "\nFiles for models of any size: write a number for each name in braces:\n";
  for (const std::string& name : templates) out += "  " + printable(name, kLongestName) + "\n";
  return out;
}

Result<std::string> list_frameworks() {
  std::string out;
  for (const auto& name : config::names_in("frameworks")) {
    const Result<workload::FrameworkSpec> f = config::load_framework(name);
    if (!f) {
      out += unreadable(name, f.error());
      continue;
    }
    out += entry(name, f->source);
  }
  return out;
}

Result<std::string> list_collectives() {
  std::string out;
  for (const auto& c : collectives::collective_registry()) out += entry(c.name, c.sentence);
  return out;
}

Result<std::string> list_ops() {
  std::string out;
  for (const auto& o : opmodels::op_model_registry()) out += entry(o.kind, o.sentence);
  return out;
}

Result<std::string> list_traces() {
  std::string out;
  for (const traces::TraceFormat* f : traces::trace_formats())
    out += entry(std::string(f->name) + " (read)", std::string(f->sentence));
  return out +
         entry("chrome_trace (write)", "Chrome trace-event JSON, plain or .gz, which Perfetto opens: --timeline FILE");
}

Result<std::string> list_policies() {
  std::string out;
  for (const serving::PolicyEntry* p : serving::policies()) out += entry(p->name, p->sentence);
  return out;
}

Result<std::string> list_serving() { return serving::serving_reference(); }

struct Listing {
  const char* what;
  Result<std::string> (*list)();
};
constexpr Listing kListings[] = {
    {"devices", list_devices},       {"systems", list_systems},         {"models", list_models},
    {"frameworks", list_frameworks}, {"collectives", list_collectives}, {"ops", list_ops},
    {"traces", list_traces},         {"policies", list_policies},       {"serving", list_serving}};

std::vector<std::string> listing_names() {
  std::vector<std::string> names;
  for (const auto& l : kListings) names.emplace_back(l.what);
  names.emplace_back("config");
  return names;
}

struct ListFlags {
  std::string what;
  bool markdown = false;
};

Result<void> run(const ListFlags& flags) {
  if (flags.markdown && flags.what != "config")
    return Error{"--markdown: found it with " + flags.what + ", expected it with config only", "", ""};
  for (const auto& l : kListings) {
    if (flags.what != l.what) continue;
    TRY_ASSIGN(const std::string text, l.list());
    return print(text);
  }
  return print(flags.markdown ? config::reference_markdown() : config::reference_text());
}

void declare_list(CLI::App& self, Action& action) {
  auto flags = std::make_shared<ListFlags>();
  self.add_option("what", flags->what,
                  "devices, systems, models, frameworks, collectives, ops, traces, policies, serving or config")
      ->required()
      ->check(CLI::IsMember(listing_names()));
  self.add_flag("--markdown", flags->markdown, "config only: as Markdown, the source of docs/config_reference.md");
  self.callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

constexpr Refusal kListRefuses[] = {
    {"", "what: missing"},
    {"device", "device"},
    {"devices --markdown", "--markdown"},
};

}  // namespace

const Command list_command{
    .name = "list",
    .description =
        "List devices, systems, models, frameworks, collectives, ops, trace formats, policies, or every config key",
    .refuses = kListRefuses,
    .declare = declare_list,
};

}  // namespace distsim::app
