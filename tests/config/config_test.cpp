#include "sim/config/config.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "config_fixture.hpp"
#include "opmodels/measured/measured_table.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/config/unread_files.hpp"
#include "sim/pipeline/passes/dump.hpp"
#include "sim/workload/dlrm/dlrm_spec.hpp"
#include "sim/workload/models/mlp.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::config {
namespace {

class ConfigTest : public test::ConfigFixture {};

/// Keys and values, wherever they were written and in whatever order.
bool says_the_same(const ConfigNode& a, const ConfigNode& b) {
  if (a.kind != b.kind || a.scalar != b.scalar || a.entries.size() != b.entries.size()) return false;
  return std::ranges::all_of(a.entries, [&](const ConfigNode::Entry& entry) {
    const ConfigNode* other = b.find(entry.key);
    return other != nullptr && says_the_same(entry.value, *other);
  });
}

TEST_F(ConfigTest, NamedFilesLieUnderTheSections) {
  const auto e = load();
  ASSERT_TRUE(e.ok()) << e.error().text();
  EXPECT_EQ(e->title, "x");
  EXPECT_EQ(e->path, dir_ + "/x.yaml");
  EXPECT_EQ(e->cluster.name, "boxes");
  EXPECT_EQ(e->cluster.nodes, 4);
  EXPECT_EQ(e->cluster.nic.count, 8);
  EXPECT_EQ(e->cluster.device, "chip");
  EXPECT_EQ(e->device.name, "chip");
  EXPECT_EQ(e->device.sm_count, 108);
  EXPECT_EQ(e->model.name, "net");  // the file has no name of its own: that of the file
  EXPECT_EQ(e->model.family, workload::find_family("mlp"));
  EXPECT_EQ(e->framework.name, "pytorch");  // the default
  EXPECT_EQ(e->framework.host.per_op, Duration::microseconds(7));
}

TEST_F(ConfigTest, TheExperimentWeighsMoreThanTheFileAndSetMoreThanBoth) {
  write(
      "x.yaml",
      "title: mine\ncluster: {system: boxes, nodes: 4, nic: {count: 4}}\ndevice: {sm_count: 100}\nmodel: {name: net, global_batch: 512}\n"
      "collectives: {use_curves: false}\n");
  const auto e = load({"cluster.nodes=16", "cluster.nic.latency=3 us", "model.mlp.layers=[7, 1]",
                       "framework.host.per_op=1 us", "title=theirs"});
  ASSERT_TRUE(e.ok()) << e.error().text();
  EXPECT_EQ(e->title, "theirs");
  EXPECT_EQ(e->cluster.nodes, 16);
  EXPECT_EQ(e->cluster.nic.count, 4);
  EXPECT_EQ(e->cluster.nic.latency, Duration::microseconds(3));
  EXPECT_DOUBLE_EQ(e->cluster.nic.bandwidth.value(), 25e9);  // from the file
  EXPECT_EQ(e->device.sm_count, 100);
  EXPECT_EQ(e->model.global_batch, 512);
  EXPECT_EQ(e->model.as<workload::MlpSpec>().layers, (std::vector<std::int64_t>{7, 1}));
  EXPECT_EQ(e->framework.host.per_op, Duration::microseconds(1));
  EXPECT_FALSE(e->collectives.use_curves);
}

/// A section without a name is of the default profile, whatever it sets.
TEST_F(ConfigTest, AFrameworkThatIsNotNamedIsTheDefaultOne) {
  for (const std::string set :
       {"framework.uncertainty=0.3", "framework.host.eager=false", "framework.host.per_launch=2 us",
        "framework.gradients.overlap=false", "framework.input.per_sample=2 us", "framework={}"}) {
    const auto alone = load({set}), named = load({set, "framework.name=pytorch"});
    ASSERT_TRUE(alone.ok()) << alone.error().text();
    EXPECT_EQ(alone->framework.name, "pytorch") << set;
    EXPECT_EQ(alone->framework.host.per_op, Duration::microseconds(7)) << set;
    EXPECT_TRUE(says_the_same(*alone->merged.find("framework"), *named->merged.find("framework"))) << set;
  }
  write("x.yaml", "cluster: {system: boxes}\nmodel: {name: net}\nframework: {host: {per_launch: 3 us}}\n");
  EXPECT_EQ(load()->framework.host.per_op, Duration::microseconds(7));
  EXPECT_EQ(load()->framework.host.per_launch, Duration::microseconds(3));
  write("frameworks/mine.yaml", "host: {per_launch: 3 us}\n");  // a profile that takes nothing from another
  EXPECT_EQ(load({"framework.name=mine"})->framework.host.per_op, workload::FrameworkSpec().host.per_op);
  EXPECT_NE(load({"framework.nmae=mine"}).error().text().find("did you mean 'name'"), std::string::npos);
}

TEST_F(ConfigTest, TheLastSetCounts) { EXPECT_EQ(load({"cluster.nodes=2", "cluster.nodes=3"})->cluster.nodes, 3); }

TEST_F(ConfigTest, SetReachesItemsOfListsInNamedFiles) {
  const auto e = load({"model.name=tables", "model.dlrm.tables.1.rows=77"});
  ASSERT_TRUE(e.ok()) << e.error().text();
  ASSERT_EQ(e->model.as<workload::DlrmSpec>().tables.size(), 2u);
  EXPECT_EQ(e->model.as<workload::DlrmSpec>().tables[0].rows, 10);
  EXPECT_EQ(e->model.as<workload::DlrmSpec>().tables[1].rows, 77);
}

TEST_F(ConfigTest, AnotherDeviceByNameOrAlias) {
  EXPECT_EQ(load({"device.name=chip_plus"})->device.name, "chip_plus");
  EXPECT_EQ(load({"device.name=chip_plus"})->cluster.device, "chip_plus");
  EXPECT_EQ(load({"cluster.device=chip_plus"})->device.name, "chip_plus");
  EXPECT_EQ(load({"device.name=chip_plus-SXM"})->device.name, "chip_plus");
  EXPECT_EQ(load({"cluster.system=BOX"})->cluster.name, "boxes");
}

/// A device alone stands for its usual server, whatever else is said of the cluster; links of one's own, for themselves.
TEST_F(ConfigTest, ADeviceAloneComesInItsServer) {
  write("devices/served.yaml", device("served") + "server: BOX\n");
  write("x.yaml", "cluster: {device: served-SXM, nodes: 3, gpus_per_node: 4, nic: {count: 2}}\nmodel: {name: net}\n");
  const auto e = load();
  ASSERT_TRUE(e.ok()) << e.error().text();
  EXPECT_EQ(e->cluster.name, "boxes");
  EXPECT_EQ(e->cluster.device, "served");
  EXPECT_EQ(e->device.name, "served");
  EXPECT_EQ(e->cluster.nodes, 3);
  EXPECT_EQ(e->cluster.gpus_per_node, 4);
  EXPECT_EQ(e->cluster.gpu_links.links_per_gpu, 12);
  EXPECT_EQ(e->cluster.nic.count, 2);
  EXPECT_EQ(error_of_text("cluster: {device: chip, nodes: 3}\nmodel: {name: net}\n"),
            "DIR/x.yaml:1:10: cluster.name: missing, expected text; System name: the file name without .yaml. "
            "Measured collectives are looked up by it and the aliases.");
  write("devices/served.yaml", device("served") + "server: boxs\n");
  write("x.yaml", "cluster: {device: served}\nmodel: {name: net}\n");
  EXPECT_NE(error_of(load()).find("cluster.system: found 'boxs'"), std::string::npos) << error_of(load());
}

TEST_F(ConfigTest, PathsStartAtTheFileThatNamesThem) {
  write(
      "mine/system.yaml",
      "name: mine\ngpus_per_node: 4\ndevice: parts/gpu.yaml\ngpu_links: {kind: nvswitch, links_per_gpu: 1, bandwidth_per_link: 1 GB/s}\n");
  write("mine/parts/gpu.yaml", device("gpu"));
  write("x.yaml", "cluster: {system: mine/system.yaml}\nmodel: {name: ./models/net.yaml}\n");
  const auto e = load();
  ASSERT_TRUE(e.ok()) << e.error().text();
  EXPECT_EQ(e->cluster.name, "mine");
  EXPECT_EQ(e->device.name, "gpu");
  EXPECT_EQ(e->model.name, "net");
}

TEST_F(ConfigTest, CurveFilesStartAtTheExperiment) {
  write(
      "x.yaml",
      "cluster: {system: boxes}\nmodel: {name: net}\ncollectives: {curve_files: [logs/a.txt, /b.txt], constants: mine.yaml}\n");
  const auto e = load();
  ASSERT_TRUE(e.ok()) << e.error().text();
  EXPECT_EQ(e->collectives.curve_files, (std::vector<std::string>{dir_ + "/logs/a.txt", "/b.txt"}));
  EXPECT_EQ(e->collectives.constants, dir_ + "/mine.yaml");
}

/// They were measured on the system of that file, whatever the experiment changes of it.
TEST_F(ConfigTest, CurveFilesComeWithTheSystemAsItsFileDescribesIt) {
  const std::string text =
      "cluster: {system: boxes, nodes: 2, nic: {count: 3, bandwidth: 7 GB/s}}\nmodel: {name: net}\n";
  write("x.yaml", text);
  ASSERT_TRUE(load().ok()) << load().error().text();
  EXPECT_FALSE(load()->collectives.described);
  write("x.yaml", "cluster: {system: boxes}\nmodel: {name: net}\n");
  const auto as_it_is = load();
  write("x.yaml", text + "collectives: {curve_files: [/b.txt]}\n");
  const auto e = load();
  ASSERT_TRUE(e.ok()) << e.error().text();
  ASSERT_TRUE(e->collectives.described);
  EXPECT_EQ(*e->collectives.described, as_it_is->cluster);
  EXPECT_EQ(e->cluster.nic.count, 3);
}

TEST_F(ConfigTest, ASectionWithoutANameDescribesTheThingInPlace) {
  write("x.yaml",
        "cluster: {name: inline, gpus_per_node: 2, device: chip, gpu_links: {kind: pcie}}\n"
        "model: {kind: mlp, global_batch: 8, mlp: {layers: [3]}}\n");
  const auto e = load();
  ASSERT_TRUE(e.ok()) << e.error().text();
  EXPECT_EQ(e->cluster.name, "inline");
  EXPECT_EQ(e->model.as<workload::MlpSpec>().layers, (std::vector<std::int64_t>{3}));
}

TEST_F(ConfigTest, ABatchGivenOneWayReplacesTheOther) {
  const auto e = load({"model.per_gpu_batch=32"});
  ASSERT_TRUE(e.ok()) << e.error().text();
  EXPECT_EQ(e->model.per_gpu_batch, 32);
  EXPECT_EQ(e->model.global_batch, 0);
}

TEST_F(ConfigTest, TwoBatchesHaveThePlaceOfTheSecondKind) {
  write("x.yaml", "cluster: {system: boxes}\nmodel: {name: net, global_batch: 64, per_gpu_batch: 8}\n");
  EXPECT_EQ(
      error_of(load()),
      "DIR/x.yaml:2:53: model.per_gpu_batch: found both global_batch 64 and per_gpu_batch 8, expected one of them; "
      "set the other to 0");
}

TEST_F(ConfigTest, ASystemIsKnownAsItsFileCallsIt) {
  EXPECT_EQ(load()->system, "boxes");
  const auto renamed = load({"cluster.name=mine"});
  EXPECT_EQ(renamed->system, "boxes");
  EXPECT_EQ(renamed->cluster.name, "mine");
  write("x.yaml",
        "cluster: {name: inline, gpus_per_node: 2, device: chip, gpu_links: {kind: pcie}}\nmodel: {name: net}\n");
  EXPECT_EQ(load()->system, "");
}

TEST_F(ConfigTest, TextInsteadOfAFile) {
  const auto parsed = parse_experiment_text("cluster: {system: boxes}\nmodel: {name: net}\n", dir_ + "/typed.yaml",
                                            {"cluster.nodes=2"});
  ASSERT_TRUE(parsed.ok());
  const auto e = resolve(*parsed);
  ASSERT_TRUE(e.ok()) << e.error().text();
  EXPECT_EQ(e->cluster.nodes, 2);
}

TEST_F(ConfigTest, TheEnvironmentNamesAFolder) {
  write("x.yaml", "cluster: {system: boxes}\nmodel: {name: net}\n");
  ::setenv("DISTSIM_CONFIGS", dir_.c_str(), 1);
  const auto system = load_system("boxes");
  const auto names = names_in("systems");
  ::unsetenv("DISTSIM_CONFIGS");
  ASSERT_TRUE(system.ok()) << system.error().text();
  EXPECT_EQ(system->gpus_per_node, 8);
  EXPECT_NE(std::find(names.begin(), names.end(), "boxes"), names.end());
  EXPECT_FALSE(load_system("boxes").ok());
}

/// It would count as one that is not there, and what is shipped be used in its place.
TEST_F(ConfigTest, WhatHasTheNameOfAFileAndIsNoneIsRefused) {
  std::filesystem::create_directories(dir_ + "/devices/t4.yaml");
  std::filesystem::create_symlink("/none", dir_ + "/devices/l4.yaml");
  ASSERT_EQ(::mkfifo((dir_ + "/devices/a10.yaml").c_str(), 0600), 0);
  ::setenv("DISTSIM_CONFIGS", dir_.c_str(), 1);
  std::map<std::string, std::string> errors;  // by name: the file's own, an alias of what it hides, the driver's
  for (const char* name : {"t4", "Tesla-T4", "NVIDIA T4", "l4", "NVIDIA_L4", "a10", "NVIDIA_A10"}) {
    const auto device = load_device(name);
    errors[name] = device.ok() ? "no error" : device.error().text();
  }
  const std::string op_table = first_of_name({dir_ + "/devices", dir_}, "l4.yaml");
  ::unsetenv("DISTSIM_CONFIGS");
  for (const auto& [name, error] : errors) {
    EXPECT_NE(error.find("device: found '" + name + "', expected a file: '"), std::string::npos)
        << name << ": " << error;
    EXPECT_NE(error.find(".yaml' is none"), std::string::npos) << name << ": " << error;
  }
  EXPECT_EQ(op_table, dir_ + "/devices/l4.yaml");
}

/// Whatever the files are called.
TEST_F(ConfigTest, AnAliasIsThatOfTheFirstFolder) {
  for (const char* file : {"aaa", "zzz"}) {
    const std::string path = std::string("devices/") + file + ".yaml";
    write(path, "name: " + std::string(file) + "\naliases: [Tesla-T4]\n" +
                    device(file).substr(device(file).find("architecture")));
    ::setenv("DISTSIM_CONFIGS", dir_.c_str(), 1);
    const auto by_alias = load_device("Tesla-T4"), by_driver = load_device("NVIDIA Tesla_T4");
    ::unsetenv("DISTSIM_CONFIGS");
    ASSERT_TRUE(by_alias.ok() && by_driver.ok()) << file;
    EXPECT_EQ(by_alias->name, file);
    EXPECT_EQ(by_driver->name, file);
    std::filesystem::remove(dir_ + "/" + path);
  }
}

TEST_F(ConfigTest, TwoFilesOfAFolderWithOneAliasAreRefused) {
  write("systems/other.yaml", "name: other\naliases: [BOX]\ngpus_per_node: 1\ndevice: chip\ngpu_links: {kind: none}\n");
  EXPECT_EQ(error_of_text("cluster: {system: BOX}\nmodel: {name: net}\n"),
            "DIR/x.yaml:1:19: cluster.system: found 'BOX', expected a name of one file: 'DIR/systems/boxes.yaml' and "
            "'DIR/systems/other.yaml' both have it");
  EXPECT_EQ(error_of_text("cluster: {system: other}\nmodel: {name: net}\n"), "no error");
}

TEST_F(ConfigTest, WhatAUsersFolderHoldsInVainIsNamed) {
  EXPECT_TRUE(unread_in(dir_).empty()) << unread_in(dir_).front();
  for (const char* folder : {"system", "curves", "results"}) std::filesystem::create_directories(dir_ + "/" + folder);
  write("curves/mine.log", "");
  write("curves/README", "");
  write("curves/mine.curve.txtpb", "");
  write("systems/mine.yml", "");
  const std::vector<std::string> remarks = unread_in(dir_);
  ASSERT_EQ(remarks.size(), 3u);
  EXPECT_EQ(remarks[0], "'" + dir_ + "/curves/mine.log' is not looked for: names in curves end in .curve.txtpb");
  EXPECT_EQ(remarks[1], "the folder '" + dir_ + "/system' is not read; did you mean 'systems'?");
  EXPECT_EQ(remarks[2], "'" + dir_ + "/systems/mine.yml' is not looked for: names in systems end in .yaml");
  std::filesystem::create_directories(dir_ + "/results/deep");
  ASSERT_EQ(unread_in(dir_ + "/results").size(), 1u);
  EXPECT_NE(unread_in(dir_ + "/results")[0].find("holds nothing that distsim looks for"), std::string::npos);
}

TEST_F(ConfigTest, WhatAFileOfAUsersFolderNamesIsNotInVain) {
  std::filesystem::create_directories(dir_ + "/models");
  for (const char* name : {"models/a.onnx", "models/w_64.onnx", "models/other.onnx"}) write(name, "");
  write("models/own.yaml", "graph: {file: ./a.onnx}\n");
  write("models/own_w{width}.yaml", "graph: {file: 'w_${width}.onnx'}\nsize: ${width}\n");
  const std::vector<std::string> remarks = unread_in(dir_);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0], "'" + dir_ + "/models/other.onnx' is not looked for: names in models end in .yaml");
}

/// Also several in one text, as --set and studies take them.
TEST_F(ConfigTest, WhatATextOfAUsersFolderNamesIsNotInVain) {
  for (const char* folder : {"models", "studies", "serving"}) std::filesystem::create_directories(dir_ + "/" + folder);
  for (const char* name : {"a", "b", "c", "d", "e e", "f", "g_8", "h", "i", "other"})
    write("models/" + std::string(name) + ".csv", "");
  write("studies/map.yaml", "set: ['model.parallel={placement_file: models/a.csv, sharding: plan}', 'x={y: b.csv}']\n");
  write("studies/list.yaml", "vary: {parallel.placement_file: '../models/c.csv,d.csv, e e.csv'}\n");
  write("studies/key.yaml", "set: [parallel.placement_file=f.csv]\nvary: {x: ['[g_${n}.csv, h.csv]']}\n");
  write("serving/own.yaml", "set: [model.graph=i.csv]\n");
  const std::vector<std::string> remarks = unread_in(dir_);
  ASSERT_EQ(remarks.size(), 1u) << remarks.front();
  EXPECT_NE(remarks[0].find("/models/other.csv' is not looked for"), std::string::npos) << remarks[0];
}

TEST_F(ConfigTest, TablesInAFolderOfOpModelsAreNamed) {
  std::filesystem::create_directories(dir_ + "/op_models/gone.ops");
  std::filesystem::create_symlink("/none", dir_ + "/op_models/nowhere.ops");
  write("op_models/sub/a100_sxm4_80gb.ops", "");
  write("op_models/sub/notes", "");
  const std::vector<std::string> remarks = unread_in(dir_);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0], "'" + dir_ + "/op_models/sub/a100_sxm4_80gb.ops' is not read: expected in op_models itself");
}

/// A table is read by the name of its device, not by another name of it.
TEST_F(ConfigTest, ATableUnderAnotherNameOfItsDeviceIsNamed) {
  std::filesystem::create_directories(dir_ + "/op_models");
  const std::string table = opmodels::MeasuredTable("h100_sxm5_80gb", "", {}).text();
  for (const char* name : {"h100_sxm5_80gb", "H100_SXM5_80GB", "mine"})
    write("op_models/" + std::string(name) + ".ops", table);
  write("op_models/own.ops", opmodels::MeasuredTable("own", "", {}).text());
  const std::vector<std::string> remarks = unread_in(dir_);
  ASSERT_EQ(remarks.size(), 2u);
  const std::string expected = ".ops' is not read: the table of that device is called 'h100_sxm5_80gb.ops'";
  EXPECT_EQ(remarks[0], "'" + dir_ + "/op_models/H100_SXM5_80GB" + expected);
  EXPECT_EQ(remarks[1], "'" + dir_ + "/op_models/mine" + expected);
}

TEST_F(ConfigTest, LoadByNameFindsNothingElsewhere) {
  EXPECT_EQ(load_device("a100_sxm4_80gp").error().text(),
            "device: found 'a100_sxm4_80gp', expected a file in configs/devices; did you mean 'a100_sxm4_80gb'?");
  EXPECT_FALSE(load_model("").ok());
  EXPECT_FALSE(load_framework("../pytorch").ok());
  EXPECT_FALSE(load_model(std::string("a\0b", 3)).ok());
  EXPECT_FALSE(load_model(std::string(100'000, 'a')).ok());
  EXPECT_TRUE(names_in("nonsense").empty());
  EXPECT_EQ(load_device(dir_ + "/devices/chip.yaml")->name, "chip");
}

TEST_F(ConfigTest, ErrorsOfTheExperimentStandWhereTheyWereMade) {
  EXPECT_EQ(
      error_of_text("clutser: {system: boxes}\nmodel: {name: net}\n"),
      "DIR/x.yaml:1:1: clutser: found an unknown section, expected a section of an experiment; did you mean 'cluster'?");
  EXPECT_EQ(error_of_text("cluster: {system: boxs}\nmodel: {name: net}\n"),
            "DIR/x.yaml:1:19: cluster.system: found 'boxs', expected a file in configs/systems; did you mean 'boxes'?");
  EXPECT_EQ(error_of_text("cluster:\n  system: boxes\n  nodse: 3\nmodel: {name: net}\n"),
            "DIR/x.yaml:3:3: cluster.nodse: found an unknown key, expected a key of cluster; did you mean 'nodes'?");
  EXPECT_EQ(error_of_text("cluster: {system: boxes, nodes: 0}\nmodel: {name: net}\n"),
            "DIR/x.yaml:1:33: cluster.nodes: found '0', expected 1 .. 1000000");
  EXPECT_EQ(error_of_text("cluster: {system: boxes, nic: {bandwidth: 25}}\nmodel: {name: net}\n"),
            "DIR/x.yaml:1:43: cluster.nic.bandwidth: found '25', expected a rate with its unit, e.g. 25 GB/s");
  EXPECT_EQ(error_of_text("cluster: boxes\nmodel: {name: net}\n"),
            "DIR/x.yaml:1:10: cluster: found 'boxes', expected a map with system: a file in configs/systems");
  EXPECT_EQ(error_of_text("model: {name: net}\n"),
            "DIR/x.yaml:1:1: cluster: missing, expected a section with system: a file in configs/systems");
  EXPECT_EQ(error_of_text("cluster: {system: boxes}\n"),
            "DIR/x.yaml:1:1: model: missing, expected a section with name: a file in configs/models");
  EXPECT_EQ(error_of_text("cluster: {system: [a]}\nmodel: {name: net}\n"),
            "DIR/x.yaml:1:19: cluster.system: found a list of 1, expected the name of a file in configs/systems");
  EXPECT_EQ(error_of_text("cluster: {system: boxes}\nmodel: {name: net}\ntitle: [a]\n"),
            "DIR/x.yaml:3:8: title: found a list of 1, expected text");
  EXPECT_EQ(error_of_text("cluster: {system: boxes}\nmodel: {name: net}\ndevice: chip\n"),
            "DIR/x.yaml:3:9: device: found 'chip', expected a map, e.g. {name: a100_sxm4_80gb}");
  EXPECT_EQ(error_of_text("- a\n"),
            "DIR/x.yaml:1:1: experiment: found a list of 1, expected a map with the sections cluster and model");
  EXPECT_EQ(error_of_text("hello\n"),
            "DIR/x.yaml:1:1: experiment: found 'hello', expected a map with the sections cluster and model");
  EXPECT_EQ(error_of_text(""),
            "DIR/x.yaml:1:1: cluster: missing, expected a section with system: a file in configs/systems");
  EXPECT_EQ(
      error_of_text("cluster: {name: a, gpus_per_node: 1, gpu_links: {kind: none}}\nmodel: {name: net}\n"),
      "DIR/x.yaml:1:10: cluster.system: missing, expected a file in configs/systems; a cluster that is described in "
      "place needs cluster.device, a file in configs/devices");
}

// What is missing may be there under a misspelt name.
TEST_F(ConfigTest, AMisspeltKeyIsSaidBeforeWhatIsMissing) {
  EXPECT_EQ(
      error_of_text(
          "cluster: {name: a, gpus_per_node: 1, gpu_links: {kind: none}, devicce: chip}\nmodel: {name: net}\n"),
      "DIR/x.yaml:1:63: cluster.devicce: found an unknown key, expected a key of cluster; did you mean 'device'?");
  write("systems/misspelt.yaml", "name: misspelt\ngpus_per_node: 2\ndevicce: chip\n");
  EXPECT_EQ(error_of_text("cluster: {system: misspelt}\nmodel: {name: net}\n"),
            "DIR/systems/misspelt.yaml:3:1: cluster.devicce: found an unknown key, expected a key of cluster; did you "
            "mean 'device'?");
}

TEST_F(ConfigTest, ErrorsOfANamedFileStandInThatFile) {
  write("devices/broken.yaml", "name: broken\nsm_count: [1\n");
  EXPECT_EQ(
      error_with_sets({"device.name=broken"}),
      "DIR/devices/broken.yaml:2:13: found the end of the file, expected valid YAML (',' or ']'); opened at DIR/devices/broken.yaml:2:11");
  write("devices/words.yaml", "hello\n");
  EXPECT_EQ(error_with_sets({"device.name=words"}),
            "DIR/devices/words.yaml:1:1: device.name: found 'hello', expected a map");
  write("models/wrong.yaml", "kind: mlp\nglobal_batch: -1\n");
  EXPECT_EQ(error_with_sets({"model.name=wrong"}),
            "DIR/models/wrong.yaml:2:15: model.global_batch: found '-1', expected 0 .. 1000000000000");
  EXPECT_EQ(
      error_of_text("cluster: {system: boxes}\nmodel: {name: none.yaml}\n"),
      "DIR/x.yaml:2:15: model.name: found 'none.yaml', expected a file that can be read; DIR/none.yaml: cannot open (No such file or directory)");
}

TEST_F(ConfigTest, KeysThatMovedToAnotherSectionAreNamed) {
  write("models/old.yaml", "kind: dlrm\ndlrm:\n  tables: [{rows: 10}]\n  table_memory: 60 GB\n");
  EXPECT_EQ(error_with_sets({"model.name=old"}),
            "DIR/models/old.yaml:4:3: model.dlrm.table_memory: found an old key, expected parallel.table_memory");
  EXPECT_EQ(error_with_sets({"model.name=tables", "model.dlrm.sharding=row_wise"}),
            "--set model.dlrm.sharding: found an old key, expected parallel.sharding");
}

TEST_F(ConfigTest, AModelsFileMaySayHowItsTablesAreSplit) {
  write("models/split.yaml",
        "kind: dlrm\ndlrm: {tables: [{rows: 10}]}\nparallel: {sharding: row_wise, table_memory: 60 GB}\n");
  const auto e = load({"model.name=split", "parallel.table_memory=50 GB"});
  ASSERT_TRUE(e.ok()) << e.error().text();
  EXPECT_EQ(e->model.parallel.tables.sharding, workload::Sharding::row_wise) << "as the model's file says";
  EXPECT_EQ(e->model.parallel.tables.table_memory.value(), 50'000'000'000) << "as the experiment says";
}

TEST_F(ConfigTest, ALayoutGivenAsTheModelsAndAsTheExperimentsIsRefused) {
  EXPECT_EQ(error_with_sets({"model.parallel.tensor=2", "parallel.tensor=4"}),
            "--set model.parallel.tensor: found '2', expected '4', as parallel.tensor is; give one of the two");
  EXPECT_EQ(error_with_sets({"parallel.stage_layers=[1, 2]", "model.parallel.stage_layers=[2, 1]"}),
            "--set model.parallel.stage_layers: found a list of 2, expected a list of 2, as parallel.stage_layers is; "
            "give one of the two");
  EXPECT_TRUE(load({"model.parallel.tensor=1", "parallel.tensor=1"}).ok());
  EXPECT_TRUE(load({"model.parallel.tensor=1", "parallel.pipeline=1"}).ok());
}

TEST_F(ConfigTest, ErrorsOfSetNameTheFlag) {
  EXPECT_EQ(error_with_sets({"cluster.nodes"}),
            "--set: found 'cluster.nodes', expected KEY=VALUE, e.g. cluster.nodes=8");
  EXPECT_EQ(error_with_sets({"=8"}), "--set: found '=8', expected KEY=VALUE, e.g. cluster.nodes=8");
  EXPECT_EQ(error_with_sets({""}), "--set: found '', expected KEY=VALUE, e.g. cluster.nodes=8");
  EXPECT_EQ(error_with_sets({"cluster.nodes="}), "--set cluster.nodes: found nothing, expected a value after '='");
  EXPECT_EQ(error_with_sets({"cluster.nodes=0"}), "--set cluster.nodes: found '0', expected 1 .. 1000000");
  EXPECT_EQ(error_with_sets({"cluster.nodes=4e9"}), "--set cluster.nodes: found '4e9', expected 1 .. 1000000");
  EXPECT_EQ(
      error_with_sets({"clustr.nodes=4"}),
      "--set clustr.nodes: clustr: found an unknown section, expected a section of an experiment; did you mean 'cluster'?");
  EXPECT_EQ(error_with_sets({"cluster.nodse=4"}),
            "--set cluster.nodse: found an unknown key, expected a key of cluster; did you mean 'nodes'?");
  EXPECT_EQ(error_with_sets({"cluster.nic.latency=3"}),
            "--set cluster.nic.latency: found '3', expected a time with its unit, e.g. 1.9 us");
  EXPECT_EQ(error_with_sets({"model.name=tables", "model.dlrm.tables.2.rows=1"}),
            "--set model.dlrm.tables.2.rows: found the item '2', expected an item number from 0 to 1");
  EXPECT_EQ(error_with_sets({"model.name=tables", "model.dlrm.tables.1.rows=0"}),
            "--set model.dlrm.tables[1].rows: found '0', expected 1 .. 10000000000000");
  EXPECT_EQ(error_with_sets({"model.name=tables", "model.dlrm.tables.01.rows=0"}),
            "--set model.dlrm.tables.01.rows: found the item '01', expected an item number from 0 to 1");
  EXPECT_EQ(error_with_sets({"model.name=tables", "model.dlrm.tables.x.rows=0"}),
            "--set model.dlrm.tables.x.rows: found the item 'x', expected an item number from 0 to 1");
  EXPECT_EQ(error_with_sets({"cluster.sytem=boxes"}),
            "--set cluster.sytem: found an unknown key, expected a key of cluster; did you mean 'system'?");
  EXPECT_EQ(error_with_sets({"engine.slow_gpus=[{rank: 3, speed: 0.5}, {rank: 3, speed: 0.9}]"}),
            "--set engine.slow_gpus: found rank 3 twice, expected one speed for each GPU");
  EXPECT_EQ(error_with_sets({"device.name=chp"}),
            "--set device.name: found 'chp', expected a file in configs/devices; did you mean 'chip'?");
  EXPECT_EQ(error_with_sets({"cluster.system=/etc/passwd"}),
            "--set cluster.system: found '/etc/passwd', expected a name, or a path that ends in .yaml");
  EXPECT_EQ(error_with_sets({"cluster.system=../../x.yaml"}),
            "--set cluster.system: found '../../x.yaml', expected a file name without '..' or control characters");
}

TEST_F(ConfigTest, AnUnreadableExperimentIsOneLine) {
  EXPECT_EQ(load_experiment(dir_ + "/none.yaml", {}).error().text(),
            dir_ + "/none.yaml: cannot open (No such file or directory)");
  EXPECT_EQ(load_experiment(dir_, {}).error().text(), dir_ + ": found a folder, expected a file");
  write("x.yaml", std::string((1 << 20) + 1, '#'));
  EXPECT_EQ(error_with_sets({}), "DIR/x.yaml: found more than 1048576 bytes, expected no more than that");
}

/// A title says what the file describes; --set may make that something else.
TEST_F(ConfigTest, ATitleDoesNotOutliveWhatItDescribes) {
  write("x.yaml", "title: a net on four boxes\ncluster: {system: boxes, nodes: 4}\nmodel: {name: net}\n");
  EXPECT_EQ(load()->title, "a net on four boxes");
  EXPECT_EQ(load({"model.global_batch=512"})->title, "a net on four boxes");
  EXPECT_EQ(load({"cluster.nodes=2"})->title, "net on 2 nodes of boxes");
  EXPECT_EQ(load({"model.name=tables"})->title, "tables on 4 nodes of boxes");
  EXPECT_EQ(load({"cluster.nodes=2", "title=mine"})->title, "mine");
}

TEST_F(ConfigTest, TheDumpSaysWhereEachValueCameFrom) {
  write("x.yaml", "title: \"a: b\"\ncluster: {system: boxes}\nmodel: {name: tables}\n");
  const auto e = load({"cluster.nodes=3"});
  ASSERT_TRUE(e.ok());
  const std::string dump = pipeline::dump(e->merged);
  EXPECT_NE(dump.find("title: \"a: b\""), std::string::npos) << dump;
  EXPECT_NE(dump.find("  nodes: 3                                      # --set cluster.nodes\n"), std::string::npos)
      << dump;
  EXPECT_NE(dump.find("        rows: 20 "), std::string::npos) << dump;
  EXPECT_NE(dump.find("/models/tables.yaml:6:12\n"), std::string::npos) << dump;
  const auto again = parse_yaml(dump, "dump");
  ASSERT_TRUE(again.ok()) << again.error().text() << "\n" << dump;
  EXPECT_EQ(again->find("model")->find("dlrm")->find("tables")->items.size(), 2u);
  EXPECT_EQ(again->find("title")->scalar, "a: b");
}

}  // namespace
}  // namespace distsim::config
