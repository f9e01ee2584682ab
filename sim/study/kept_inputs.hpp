// What many predictions of one process read once: the files that experiments name, and cost models. Nothing that changed since
// is used again, so that an answer is that of a new process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/system/inputs/input_record.hpp"
#include "sim/config/variants.hpp"
#include "sim/pipeline/cost_model_cache.hpp"

namespace distsim::study {

/// May be used by several threads.
class KeptInputs {
 public:
  struct Inputs {
    std::shared_ptr<config::NamedFiles> files;
    std::shared_ptr<pipeline::CostModelCache> models;
    std::uint64_t generation = 0;  ///< another one where files or folders have changed
  };

  /// What earlier work read, or new ones where since then one of the files, a configuration folder, $DISTSIM_CONFIGS or the
  /// working directory has changed. Models are made anew after some thousand uses in any case: prices of shapes that nobody
  /// asks for any more are then forgotten. Cost: a look at each of these files, some ten microseconds together.
  Inputs use();

  /// work(inputs); what it reads on this thread is watched from then on. `folder`: that of the experiment, whose own
  /// systems, devices, models and frameworks come first; empty: none.
  template <class Work>
  auto read(const std::string& folder, const Work& work) {
    const Inputs inputs = use();
    InputRecord record;
    auto out = work(inputs);
    watch(inputs, folder, record.take());
    return out;
  }

 private:
  void watch(const Inputs& inputs, const std::string& folder, std::vector<FileStamp> read);
  void renew();

  std::mutex mutex_;
  Inputs kept_;
  std::uint64_t used_ = 0;
  std::string surroundings_;                  ///< $DISTSIM_CONFIGS and the working directory
  std::vector<FileStamp> stamps_;             ///< each path once
  std::map<std::string, std::size_t> known_;  ///< paths of the stamps
};

}  // namespace distsim::study
