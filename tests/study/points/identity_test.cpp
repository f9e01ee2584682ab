#include "sim/study/points/identity.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

#include "base/file.hpp"
#include "sim/study/sweep/sweep.hpp"
#include "test_paths.hpp"

namespace distsim::study {
namespace {

namespace fs = std::filesystem;

/// An experiment in a folder of its own, which is the working directory.
class IdentityOf : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "models");
    fs::current_path(folder_);
  }
  void TearDown() override {
    fs::current_path(test::root());
    fs::remove_all(folder_);
  }
  void write(const std::string& file, const std::string& text) {
    EXPECT_TRUE(write_file_atomically((folder_ / file).string(), text).ok()) << file;
  }
  Identity facts(const std::vector<std::string>& sets, const std::vector<SweepAxis>& axes) {
    return inputs_facts(parse_yaml(text_, (folder_ / "x.yaml").string()).value(), values_of(sets, axes));
  }
  /// What is said when the contents of `file` change, of the inputs of an experiment with these values.
  std::string change_of(const std::string& file, const std::vector<std::string>& sets,
                        const std::vector<SweepAxis>& axes) {
    write(file, "one: 1\n");
    const Identity before = facts(sets, axes);
    EXPECT_EQ(difference(before, facts(sets, axes)), "");
    write(file, "one: 2\n");
    const std::string said = difference(before, facts(sets, axes));
    return said.substr(0, said.find(':'));
  }

  const fs::path folder_ =
      fs::canonical(fs::temp_directory_path()) / ("distsim_identity_" + std::to_string(::getpid()));
  std::string text_ = "model: {name: m}\n";
};

/// Whatever the key, and however the value is written.
TEST_F(IdentityOf, EveryFileThatAValueNamesCounts) {
  const SweepAxis numbers{"a.b", {"1", "2"}};
  const auto counts = [&](const std::string& file, const std::vector<std::string>& sets,
                          const std::vector<SweepAxis>& axes) {
    EXPECT_EQ(change_of(file, sets, axes), "configuration file " + file);
  };
  counts("q.csv", {}, {numbers, {"parallel.placement_file", {"pa.csv", "q.csv"}}});
  counts("plan", {}, {{"parallel.placement_file", {"other", "plan"}}, numbers});
  counts("cb.txt", {}, {{"collectives.curve_files", {"[ca.txt]", "[ca.txt, cb.txt]"}}});
  counts("b.json", {}, {{"model", {"{graph: a.json}", "{graph: 'b.json'}"}}});
  counts("v.csv", {}, {{"variant", {"no", "yes"}, {{}, {"times.0=v.csv"}}}});
  counts("t.csv", {"times=[s.csv, t.csv]"}, {numbers});
  EXPECT_EQ(change_of("nobody.csv", {"times=[s.csv, t.csv]"}, {numbers}), "");
  std::vector<std::string> many;
  for (int i = 0; i < 3000; ++i) many.push_back("p" + std::to_string(i) + ".csv");
  counts("p2999.csv", {}, {{"parallel.placement_file", many}});
}

TEST_F(IdentityOf, FilesThatFilesNameCount) {
  write("inner.yaml", "model: {graph: g.json}\nself: inner.yaml\n");
  EXPECT_EQ(change_of("g.json", {}, {{"model.name", {"m", "./inner.yaml"}}}), "configuration file g.json");
  text_ = "times: [u.csv]\n";
  EXPECT_EQ(change_of("u.csv", {}, {}), "configuration file u.csv");
}

/// A file that cannot be read is as one that is not there: what comes later is no contradiction, what changes or goes is one.
TEST_F(IdentityOf, FilesThatAreNotThereAreNoFacts) {
  text_ = "times: [first.csv, later.csv]\n";
  write("first.csv", "1");
  const Identity before = facts({}, {});
  write("later.csv", "1");
  const Identity after = facts({}, {});
  const Identity since = files_since(before, after, 0);
  ASSERT_EQ(since.size(), 1u);
  EXPECT_EQ(since[0].name, "configuration file later.csv");
  EXPECT_EQ(difference(before, after).substr(0, 42), "configuration file later.csv: found nothin");
  EXPECT_EQ(files_since(after, before, 0).size(), 0u);
  EXPECT_EQ(files_since(before, after, since[0].changed_ns + 1).size(), 0u) << "a row may have read it";
}

/// A study that is copied with all of its files is the same study; of a title nothing is read.
TEST_F(IdentityOf, AStudyMayBeMoved) {
  const auto at = [&](const std::string& place, const std::string& title) {
    fs::create_directories(folder_ / place / "jobs");
    write(place + "/u.csv", "1");
    write(place + "/title.csv", place);
    return inputs_facts(
        parse_yaml("title: " + title + "\ntimes: [../u.csv]\n", (folder_ / place / "jobs/x.yaml").string()).value(),
        {});
  };
  EXPECT_EQ(difference(at("here", "../title.csv"), at("there", "../title.csv")), "");
  EXPECT_NE(difference(at("here", "one"), at("there", "another")), "");
}

/// It is not followed without end.
TEST_F(IdentityOf, ATemplateMayNameAnotherOfItsOwn) {
  write("models/own_w{width}.yaml", "base: own_w${width + 1}\ngraph: g.json\n");
  text_ = "model: {name: own_w8}\n";
  EXPECT_EQ(change_of("models/g.json", {}, {}), "configuration file g.json");
}

/// The same from whatever folder it is looked at.
TEST_F(IdentityOf, FilesAreNamedFromTheExperimentOn) {
  text_ = "times: [u.csv]\n";
  write("u.csv", "1");
  const Identity here = facts({}, {});
  fs::current_path(folder_ / "models");
  EXPECT_EQ(difference(here, facts({}, {})), "");
}

/// Those that a template names for the names that are asked.
TEST_F(IdentityOf, FilesThatTemplatesNameCount) {
  write("models/own_w{width}_d{depth}.yaml",
        "graph: {file: 'g_${width * 2}.json'}\nlayers: [${repeat(width, depth)}]\n");
  text_ = "model: {name: own_w8_d2}\n";
  EXPECT_EQ(change_of("models/g_16.json", {}, {}), "configuration file g_16.json");
  EXPECT_EQ(change_of("models/g_32.json", {}, {}), "");
  EXPECT_EQ(change_of("models/g_32.json", {}, {{"model.name", {"own_w8_d2", "own_w16_d2"}}}),
            "configuration file g_32.json");
}

/// Which of them a name reaches, as an alias or through another file, may differ from point to point.
TEST_F(IdentityOf, FilesThatAreFoundByNameCount) {
  EXPECT_EQ(change_of("models/m.yaml", {}, {}), "configuration files in models");
  write("models/other.yaml", "name: other\ngraph: h.json\n");
  EXPECT_EQ(change_of("models/h.json", {}, {}), "configuration file h.json");
}

TEST_F(IdentityOf, ASweepHasThatOfItsFiles) {
  SweepRequest request{.config = test::config("dgx_a100_4node.yaml"),
                       .axes = {{"collectives.curve_files", {"[ca.txt]", "[cb.txt]"}}}};
  const auto identity = [&] { return sweep_points(request, true).value().identity; };
  write("cb.txt", "one");
  const Identity before = identity();
  EXPECT_EQ(difference(before, identity()), "");
  write("cb.txt", "two");
  EXPECT_NE(difference(before, identity()), "");
}

}  // namespace
}  // namespace distsim::study
