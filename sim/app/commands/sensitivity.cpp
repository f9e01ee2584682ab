#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <thread>

#include "base/output.hpp"
#include "base/system/signals.hpp"
#include "base/text/printable.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/serving_sweep.hpp"
#include "sim/app/unheeded.hpp"
#include "sim/serving/sensitivity/sensitivity.hpp"
#include "sim/serving/spec/price_store.hpp"
#include "sim/study/sensitivity/sensitivity.hpp"

namespace distsim::app {
namespace {

struct SensitivityFlags {
  std::string config, csv, json, html, factors;
  std::vector<std::string> sets, resources;
};

Result<study::SensitivityRequest> request_of(const SensitivityFlags& flags, const config::Experiment& experiment) {
  study::SensitivityRequest request;
  if (!flags.factors.empty()) {
    TRY_ASSIGN(request.factors, study::parse_factors(flags.factors));
  }
  for (const std::string& name : flags.resources) {
    TRY_ASSIGN(const study::Resource* resource, study::find_resource(name, experiment));
    if (std::ranges::find(request.resources, resource) != request.resources.end())
      return Error{"--resource: found " + in_quotes(name) + " twice, expected each resource once", "", ""};
    request.resources.push_back(resource);
  }
  return request;
}

/// What was found, in each form.
struct Forms {
  std::function<std::string()> csv, json, html, text;
};

/// The files, and the text where none of them goes to standard output.
Result<void> write_found(const SensitivityFlags& flags, const Forms& forms) {
  return write_and_print({text_file("--csv", flags.csv, forms.csv), text_file("--json", flags.json, forms.json),
                          text_file("--html", flags.html, forms.html)},
                         forms.text);
}

/// Of a serving experiment: the tail and the goodput in place of the iteration.
Result<void> run_serving(const SensitivityFlags& flags) {
  serving::SensitivityRequest request;
  request.factors.assign(study::kFactors.begin(), study::kFactors.end());
  if (!flags.factors.empty()) {
    TRY_ASSIGN(request.factors, study::parse_factors(flags.factors));
  }
  for (const std::string& name : flags.resources) {
    if (std::ranges::find(request.resources, name) != request.resources.end())
      return Error{"--resource: found " + in_quotes(name) + " twice, expected each resource once", "", ""};
    request.resources.push_back(name);
  }
  request.jobs = std::max(1u, std::thread::hardware_concurrency());
  serving::PriceStore prices;
  request.prices = &prices;
  const EarlyEnd early;
  serving::Sensitivity found;
  {
    ProgressLine progress("distsim sensitivity:", 2 * serving::policies().size());
    TRY_ASSIGN(found, serving::sensitivity(flags.config, flags.sets, request, [&] { progress.advance(); }));
  }
  for (const std::string& line : serving::sensitivity_without_effect(flags.config, flags.sets, request)) remark(line);
  return write_found(
      flags, {[&] { return serving::sensitivity_csv(found); }, [&] { return serving::sensitivity_json(found); },
              [&] { return serving::sensitivity_html(found); }, [&] { return serving::sensitivity_text(found); }});
}

Result<void> run(const SensitivityFlags& flags) {
  TRY(check_outputs({{"--csv", flags.csv}, {"--json", flags.json}, {"--html", flags.html}}));
  if (is_serving_experiment(flags.config)) return run_serving(flags);
  TRY_ASSIGN(const config::Experiment experiment, config::load_experiment(flags.config, flags.sets));
  TRY_ASSIGN(const study::SensitivityRequest request, request_of(flags, experiment));
  name_idle(study::sets_without_effect(flags.config, flags.sets));
  study::Sensitivity found;
  {
    ProgressLine progress("distsim sensitivity:", study::resources().size());
    TRY_ASSIGN(found, study::sensitivity(experiment, request, [&] { progress.advance(); }));
  }
  return write_found(flags,
                     {[&] { return study::sensitivity_csv(found); }, [&] { return study::sensitivity_json(found); },
                      [&] { return study::sensitivity_html(found); }, [&] { return study::sensitivity_text(found); }});
}

void declare_sensitivity(CLI::App& self, Action& action) {
  auto flags = std::make_shared<SensitivityFlags>();
  self.add_option("--config", flags->config, "Experiment file")->required()->check(refuse_empty);
  self.add_option("--set", flags->sets, "KEY=VALUE: override any key, e.g. cluster.nodes=8; may be repeated")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  self.add_option("--resource", flags->resources,
                  "Only these: nic_bandwidth, hbm_bandwidth, ...; default: all that the experiment has")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  self.add_option("--factors", flags->factors,
                  "Factors on how good a resource is, inf for no limit; default: 0.5,0.9,1.1,2,inf")
      ->check([](const std::string& text) {
        return text.empty() ? "found '', expected numbers from 1e-6 to 1e6, or inf, separated by commas" : "";
      });
  self.add_option("--csv", flags->csv, "Write one CSV row per resource and factor; - is standard output")
      ->check(refuse_empty);
  self.add_option("--json", flags->json, "Write everything as JSON; - is standard output")->check(refuse_empty);
  self.add_option("--html", flags->html, "Write a page with the table as bars; - is standard output")
      ->check(refuse_empty);
  self.callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

constexpr Refusal kSensitivityRefuses[] = {
    {"", "--config: missing"},
    {"--config no_such.yaml", "no_such.yaml"},
    {"--config configs/dgx_a100_4node.yaml --set cluster.nic.bandwidth=-1", "cluster.nic.bandwidth"},
    {"--config configs/dgx_a100_4node.yaml --csv - --json -", "-"},
    {"--config configs/dgx_a100_4node.yaml --factors 0,2", "'0'"},
    {"--config configs/dgx_a100_4node.yaml --factors nan", "'nan'"},
    {"--config configs/dgx_a100_4node.yaml --factors 2,1e-300", "'1e-300'"},
    {"--config configs/dgx_a100_4node.yaml --factors -inf", "'-inf'"},
    {"--config configs/dgx_a100_4node.yaml --resource nic_bandwith", "nic_bandwidth"},
    {"--config configs/dgx_a100_4node.yaml --resource uplink_bandwidth", "does not have"},
    {"--config configs/serving/two_gpus.yaml --resource gpu_sped", "gpu_speed"},
};

}  // namespace

const Command sensitivity_command{
    .name = "sensitivity",
    .description = "Find what would help most: the iteration with every resource better and worse",
    .refuses = kSensitivityRefuses,
    .declare = declare_sensitivity,
};

}  // namespace distsim::app
