// A folder with one small system, device, model and framework of its own, so that tests of the loader do not depend on
// the figures in configs/.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.hpp"
#include "sim/config/config.hpp"
#include "test_paths.hpp"

namespace distsim::test {

class ConfigFixture : public testing::Test {
 protected:
  ConfigFixture() {
    write("systems/boxes.yaml",
          "name: boxes\naliases: [BOX]\ngpus_per_node: 8\ndevice: chip\n"
          "gpu_links:\n  kind: nvswitch\n  links_per_gpu: 12\n  bandwidth_per_link: 25 GB/s\n"
          "nic: {count: 8, bandwidth: 200 Gb/s}\n");
    write("devices/chip.yaml", device("chip"));
    write("devices/chip_plus.yaml", device("chip_plus"));
    write("models/net.yaml", "kind: mlp\nglobal_batch: 256\nmlp: {inputs: 64, layers: [128, 10]}\n");
    write("models/tables.yaml", "kind: dlrm\nglobal_batch: 256\ndlrm:\n  tables:\n  - {rows: 10}\n  - {rows: 20}\n");
    write("frameworks/pytorch.yaml", "name: pytorch\nhost: {per_op: 7 us}\n");
    write("x.yaml", "cluster: {system: boxes, nodes: 4}\nmodel: {name: net}\n");
  }
  ~ConfigFixture() override { std::filesystem::remove_all(dir_); }

  static std::string device(const std::string& name) {
    return "name: " + name + "\naliases: [" + name +
           "-SXM]\narchitecture: ampere\ncompute_capability: 80\nsm_count: 108\n"
           "clock: {boost: 1410 MHz, sustained: 1330 MHz}\npeak: {fp32: 19.5 TFLOP/s, fp16: 312 TFLOP/s}\n"
           "hbm: {capacity: 80 GB, bandwidth: 2 TB/s}\nl2: {capacity: 40 MiB, bandwidth: 3 TB/s}\npower_limit: 400 W\n"
           "pcie_bandwidth: 26 GB/s\nsource: a test\n";
  }

  void write(const std::string& name, const std::string& text) {
    const auto path = std::filesystem::path(dir_) / name;
    std::filesystem::create_directories(path.parent_path());
    const auto done = write_file_atomically(path.string(), text);
    ASSERT_TRUE(done.ok()) << done.error().text();
  }

  Result<config::Experiment> load(const std::vector<std::string>& sets = {}) const {
    return config::load_experiment(dir_ + "/x.yaml", sets);
  }

  /// The error's text with the fixture's folder written as DIR.
  std::string error_of(const Result<config::Experiment>& result) const {
    if (result.ok()) return "no error";
    std::string text = result.error().text();
    for (std::size_t at; (at = text.find(dir_)) != std::string::npos;) text.replace(at, dir_.size(), "DIR");
    return text;
  }
  std::string error_with_sets(const std::vector<std::string>& sets) const { return error_of(load(sets)); }
  std::string error_of_text(const std::string& text) {
    write("x.yaml", text);
    return error_of(load());
  }

  std::string dir_ =
      scratch_dir(std::string("config_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

}  // namespace distsim::test
