#include "sim/replay/replay_stage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text/counted.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "sim/config/config.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/config/flag_sets.hpp"
#include "sim/replay/doubt.hpp"
#include "topology/devices/device_names.hpp"

namespace distsim::replay {
namespace {

/// Ranks of the job that the trace is of: as stated, or the largest group or rank number seen.
std::uint32_t ranks_of(const traces::TraceJob& job) {
  std::uint32_t ranks = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(job.ranks.size()));
  if (job.world_size > 0) return std::max(ranks, job.world_size);
  for (const traces::TraceGroup& g : job.groups)
    ranks = std::max({ranks, g.size, static_cast<std::uint32_t>(g.ranks.size())});
  return ranks;
}

class Stager {
 public:
  Stager(const TraceReplay& flags, const traces::TraceJob& job) : f_(flags), job_(job) {}

  Result<ReplayStage> run() {
    WhatIf& w = out_.what_if;
    w.remove = f_.remove;
    w.fuse = f_.fuse;
    w.from_ranks = w.to_ranks = ranks_of(job_);
    if (!f_.has_experiment()) {
      if (!f_.measured_on.empty()) {
        TRY(source_by_name());
        return Error{"--measured-on: found it without --config, expected the experiment to move the job to", "", ""};
      }
      if (!f_.sets.empty())
        return Error{"--set: found " + in_quotes(f_.sets.front()) +
                         " without --config, expected the experiment that the key belongs to",
                     "", ""};
      if (f_.ranks > 0)
        return Error{"--ranks: found no --config, expected an experiment with the target system", "", ""};
      return std::move(out_);
    }
    TRY_ASSIGN(const config::Experiment base, f_.with({}));
    TRY_ASSIGN(config::Experiment target, f_.with(f_.sets));
    TRY(choose_source(base));
    TRY(move_to(target));
    move_samples(base, target);
    if (source_) w.host_scale = target.cluster.host.launch_factor() / source_->host.launch_factor();
    return std::move(out_);
  }

 private:
  static std::uint32_t ranks_in(const topology::ClusterSpec& c) {
    return static_cast<std::uint32_t>(c.nodes * c.gpus_per_node);
  }

  /// Where the trace was taken: its device, and its system if that is known.
  Result<void> choose_source(const config::Experiment& base) {
    if (!f_.measured_on.empty()) return source_by_name();
    if (const std::string doubt = name_doubt(job_); !doubt.empty()) {
      out_.notes.push_back(doubt + ": kernels keep their measured times (see --measured-on)");
      return {};
    }
    auto device = config::load_device_of_driver(traces::driver_name_of(job_));
    if (!device) {
      const std::string name = traces::driver_name_of(job_);
      out_.notes.push_back(
          (name.empty() ? "the trace does not name its device" : "found no device file for " + in_quotes(name)) +
          ": kernels keep their measured times (see --measured-on)");
      return {};
    }
    if (device->name == base.device.name && ranks_in(base.cluster) == out_.what_if.from_ranks) {
      out_.notes.push_back(
          "the trace is taken to be from the system of --config, which has the same device and number of ranks (if not, use --measured-on)");
      device_ = base.device;
      source_ = base.cluster;
      options_ = base.collectives;
      return {};
    }
    device_ = std::move(*device);
    return {};
  }

  Result<void> source_by_name() {
    auto system = config::load_system(f_.measured_on);
    if (!system) {
      auto device = config::load_device(f_.measured_on);
      if (!device) {
        std::vector<std::string> names = config::names_in("systems");
        for (const auto& n : config::names_in("devices")) names.push_back(n);
        return Error{"--measured-on: found " + in_quotes(f_.measured_on) + ", expected a system or a device", "",
                     spelling_hint(f_.measured_on, names)};
      }
      device_ = std::move(*device);
      return check_source();
    }
    source_ = std::move(*system);
    const std::int64_t gpus = std::max<std::int64_t>(1, source_->gpus_per_node);
    source_->nodes = std::max<std::int64_t>(1, (out_.what_if.from_ranks + gpus - 1) / gpus);
    options_.curve_dirs = config::curve_folders();
    options_.constants = config::changed_constants();
    TRY_ASSIGN(device_, config::load_device(source_->device));
    return check_source();
  }

  /// A trace that names its GPU was measured on that. Of a device that does not say what its driver calls it, as an edited copy
  /// of a file, the user may know better.
  Result<void> check_source() {
    if (const std::string doubt = name_doubt(job_); !doubt.empty()) {
      out_.notes.push_back(doubt + "; --measured-on says that it was measured on " + device_->name);
      return {};
    }
    const std::string named = traces::driver_name_of(job_);
    const topology::KnownDevices devices = config::known_devices();
    const bool is_other = topology::is_other_gpu(named, device_->name) ||
                          topology::is_known_as_other(*device_, named, devices) ||
                          !topology::other_chip(named, device_->name, devices.names()).empty();
    if (!is_other) {
      const auto known = config::load_device_of_driver(named);
      if (known && known->name != device_->name && !topology::names_device(*device_, named))
        out_.notes.push_back("the trace names " + in_quotes(named) + ", which is " + known->name +
                             "; --measured-on says that it was measured on " + device_->name);
      else if (topology::is_part_of_gpu(named) && !topology::names_device(*device_, named))
        out_.notes.push_back("the trace names " + in_quotes(named) +
                             ", a part of a GPU; --measured-on says that it was " + "measured on all of a " +
                             device_->name);
      return {};
    }
    return Error{"--measured-on: found " + in_quotes(f_.measured_on) + " with a " + device_->name +
                     ", expected a system or device with the GPU that the trace names, " + in_quotes(named),
                 "", ""};
  }

  /// Ranks that split a model cannot become fewer than the parts. A group of the whole job may be data parallel, which can.
  Result<void> check_groups() const {
    const std::uint32_t to = out_.what_if.to_ranks, from = out_.what_if.from_ranks;
    if (to >= from) return {};
    for (const traces::TraceRank& r : job_.ranks) {
      for (const traces::TraceCollective& c : r.collectives) {
        const auto size = c.group == traces::kNone ? from : size_of(job_.groups[c.group], from);
        if (size <= to || (size >= from && to > 1)) continue;
        return Error{"found collectives of " + std::to_string(size) + " ranks in the trace, expected at most " +
                         counted(to, "rank") + ", those of the target",
                     "", "what such ranks share cannot be moved to fewer; use `distsim predict`"};
      }
    }
    return {};
  }

  /// Whether a collective joins all ranks of the job.
  bool joins_all() const {
    const std::uint32_t from = out_.what_if.from_ranks;
    const auto of_all = [&](const traces::TraceCollective& c) {
      return (c.group == traces::kNone ? from : size_of(job_.groups[c.group], from)) >= from;
    };
    return std::ranges::any_of(job_.ranks,
                               [&](const traces::TraceRank& r) { return std::ranges::any_of(r.collectives, of_all); });
  }

  static std::uint32_t size_of(const traces::TraceGroup& g, std::uint32_t all) {
    const std::uint32_t size = g.size != 0 ? g.size : static_cast<std::uint32_t>(g.ranks.size());
    return size == 0 ? all : size;
  }

  Result<void> move_to(config::Experiment& target) {
    WhatIf& w = out_.what_if;
    const std::int64_t gpus = std::max<std::int64_t>(1, target.cluster.gpus_per_node);
    w.to_ranks = f_.ranks > 0 ? f_.ranks : ranks_in(target.cluster);
    TRY(check_groups());
    if (w.to_ranks < w.from_ranks && joins_all())
      out_.notes.push_back(
          fmt::format("collectives of all {} ranks are taken for data parallelism, where each holds the "
                      "whole model; if they split it, {} cannot do their work in this time",
                      w.from_ranks, w.to_ranks));
    const std::int64_t nodes = (w.to_ranks + gpus - 1) / gpus;
    if (nodes > target.cluster.nodes) {
      out_.notes.push_back(fmt::format("using {} for {}; the experiment has {}",
                                       counted(static_cast<std::uint64_t>(nodes), "node"), counted(w.to_ranks, "rank"),
                                       target.cluster.nodes));
      target.cluster.nodes = nodes;
    }
    TRY_ASSIGN(w.to_network, network(target.cluster, target.collectives, target.device));
    if (source_) {
      TRY_ASSIGN(w.from_network, network(*source_, options_, *device_));
    }
    if (!device_) return {};
    TRY_ASSIGN(w.from_device, ops(*device_));
    TRY_ASSIGN(w.to_device, ops(target.device));
    return {};
  }

  template <class T>
  const T* own(T value) {
    auto shared = std::make_shared<const T>(std::move(value));
    out_.owned.push_back(shared);
    return shared.get();
  }

  Result<ReplayNetwork> network(const topology::ClusterSpec& cluster, const collectives::CollectiveOptions& options,
                                const topology::DeviceSpec& device) {
    TRY_ASSIGN(topology::Topology topology, topology::Topology::build(cluster, device.compute_capability));
    TRY_ASSIGN(collectives::CollectiveModels models, collectives::CollectiveModels::create(topology, options));
    ReplayNetwork out;
    out.topology = own(std::move(topology));
    out.models = own(std::move(models));
    return out;
  }

  Result<const opmodels::OpModels*> ops(const topology::DeviceSpec& device) {
    TRY_ASSIGN(opmodels::OpModels models, opmodels::OpModels::create(device));
    return own(std::move(models));
  }

  /// Samples per rank: those of the trace, or relative to the experiment without --set where a --set is about them.
  void move_samples(const config::Experiment& base, const config::Experiment& target) {
    WhatIf& w = out_.what_if;
    const bool asked = std::any_of(f_.sets.begin(), f_.sets.end(), [](const std::string& s) {
      return config::gives(s, "model.global_batch") || config::gives(s, "model.per_gpu_batch");
    });
    const double before = samples_per_rank(base, ranks_in(base.cluster)), after = samples_per_rank(target, w.to_ranks);
    const bool differ = before > 0 && after > 0 && before != after;
    if (asked && differ) w.batch_scale = after / before;
    if (w.to_ranks == w.from_ranks) return;
    std::string samples = "the same samples per rank";
    if (asked && differ) {
      samples = fmt::format("{:.6g} times the samples per rank ({:.6g} with --set, {:.6g} without)", w.batch_scale,
                            after, before);
    } else if (differ) {
      samples +=
          fmt::format(", {:.6g} ({:.6g} with --set model.global_batch={})", before, after, target.model.global_batch);
    }
    out_.notes.push_back(fmt::format("{} {} {}: each new rank does what a recorded one did, with {}",
                                     counted(w.from_ranks, "recorded rank"),
                                     agreeing(w.from_ranks, "represents", "represent"), w.to_ranks, samples));
  }

  static double samples_per_rank(const config::Experiment& e, std::uint32_t ranks) {
    if (e.model.per_gpu_batch > 0) return static_cast<double>(e.model.per_gpu_batch);
    return static_cast<double>(e.model.global_batch) / std::max(1u, ranks);
  }

  const TraceReplay& f_;
  const traces::TraceJob& job_;
  ReplayStage out_;
  std::optional<topology::DeviceSpec> device_;
  std::optional<topology::ClusterSpec> source_;
  collectives::CollectiveOptions options_;
};

}  // namespace

Result<ReplayStage> replay_stage(const TraceReplay& flags, const traces::TraceJob& job) {
  return Stager(flags, job).run();
}

}  // namespace distsim::replay
