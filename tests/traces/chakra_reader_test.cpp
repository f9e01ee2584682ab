// Chakra files of all layouts: made by hand, broken at every byte, and those at hand from others.
#include "traces/chakra/chakra_reader.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include "base/file.hpp"
#include "base/random.hpp"
#include "chakra_bytes.hpp"
#include "test_data.hpp"
#include "test_paths.hpp"
#include "traces/chakra/chakra_set.hpp"
#include "traces/chakra/chakra_writer.hpp"

namespace distsim::traces {
namespace {

ChakraGraph read(const std::string& bytes) {
  auto graph = read_chakra(bytes, "x.0.et");
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  return graph ? std::move(*graph) : ChakraGraph{};
}
std::string refusal(const std::string& bytes) {
  const auto graph = read_chakra(bytes, "x.0.et");
  return graph ? "accepted" : graph.error().text();
}

std::string small() {
  return metadata() + node({.id = 0, .micros = 17, .name = "gemm"}) + collective(1, 2, 1 << 20, {0}, "3") +
         node({.id = 2,
               .type = 5,
               .data_deps = {1},
               .attributes = integer_attribute("comm_size", 64, 13) + integer_attribute("comm_dst", 4, 7)}) +
         node({.id = 3,
               .data_deps = {0, 2},
               .micros = 5,
               .attributes = integer_attribute("is_cpu_op", 1, 27) + integer_attribute("tid", 6)});
}

TEST(ChakraReader, EveryField) {
  const ChakraGraph g = read(small());
  ASSERT_EQ(g.nodes.size(), 4u);
  EXPECT_EQ(g.version, "0.0.4");
  EXPECT_EQ(g.text_of(g.nodes[0].name), "gemm");
  EXPECT_EQ(g.nodes[0].kind, ChakraKind::compute);
  EXPECT_EQ(g.nodes[0].ps, 17'000'000);
  EXPECT_EQ(g.nodes[1].comm, ChakraComm::all_gather);
  EXPECT_EQ(g.nodes[1].comm_bytes, 1 << 20);
  EXPECT_EQ(g.text_of(g.nodes[1].group), "3");
  EXPECT_EQ(g.nodes[2].kind, ChakraKind::send);
  EXPECT_EQ(g.nodes[2].peer, 4);
  EXPECT_TRUE(g.nodes[3].on_cpu);
  EXPECT_EQ(g.nodes[3].lane, 6);
  EXPECT_EQ(std::vector<std::uint32_t>(g.deps_of(3).begin(), g.deps_of(3).end()), (std::vector<std::uint32_t>{0, 2}));
}

TEST(ChakraReader, NodesAreOrderedByIdThenByDependency) {
  // In the file 9, 4, 7; 4 waits for 9. By id 4 would be first, so it moves behind 9: 7, 9, 4.
  const ChakraGraph g = read(metadata() + node({.id = 9}) + node({.id = 4, .data_deps = {9}}) + node({.id = 7}));
  ASSERT_EQ(g.nodes.size(), 3u);
  EXPECT_EQ(g.nodes[0].id, 7u);
  EXPECT_EQ(g.nodes[1].id, 9u);
  EXPECT_EQ(g.nodes[2].id, 4u);
  EXPECT_EQ(g.deps, std::vector<std::uint32_t>{1});
}

TEST(ChakraReader, RefusesWhatCannotBePlayed) {
  EXPECT_EQ(refusal(""), "x.0.et: found an empty file, expected a Chakra trace");
  EXPECT_EQ(refusal("hello, world"),
            "x.0.et: byte 0: found unrecognized bytes, expected the metadata at the start of a Chakra trace");
  EXPECT_EQ(refusal(metadata() + node({.id = 1}) + node({.id = 1})),
            "x.0.et: node 1 (node): found its id twice, expected unique ids");
  EXPECT_EQ(refusal(metadata() + node({.id = 1, .data_deps = {8}})),
            "x.0.et: node 1 (node): found a dependency on node 8, expected a node of the file");
  EXPECT_EQ(refusal(metadata() + node({.id = 1, .control_deps = {8}})),
            "x.0.et: node 1 (node): found a dependency on node 8, expected a node of the file");
  EXPECT_EQ(refusal(metadata() + node({.id = 1, .data_deps = {2}, .name = "a"}) +
                    node({.id = 2, .data_deps = {1}, .name = "b"})),
            "x.0.et: found a dependency cycle: node 1 (a) waits for node 2 (b) waits for node 1 (a)");
  EXPECT_EQ(refusal(metadata() + node({.id = 1, .data_deps = {1}})),
            "x.0.et: found a dependency cycle: node 1 (node) waits for node 1 (node)");
  EXPECT_NE(refusal(metadata() + node({.id = 1, .type = 9})).find("a message that is not a Chakra node"),
            std::string::npos);
  EXPECT_NE(refusal(metadata() + node({.id = 1, .micros = UINT64_MAX})).find("node 1: duration: found -1"),
            std::string::npos);
  EXPECT_NE(refusal(metadata() + node({.id = 1, .type = 5})).find("node 1: comm_dst: found -1"), std::string::npos);
  EXPECT_NE(refusal(metadata() + collective(1, 0, std::uint64_t(-7))).find("node 1: comm_size: found -7"),
            std::string::npos);
}

TEST(ChakraReader, EveryTruncationIsRefusedOrAWholeNumberOfNodes) {
  const std::string bytes = small();
  std::size_t accepted = 0;
  for (std::size_t n = 1; n < bytes.size(); ++n) {
    const auto graph = read_chakra(bytes.substr(0, n), "x.0.et");
    if (!graph) continue;
    ++accepted;
    EXPECT_LT(graph->nodes.size(), 4u);
  }
  EXPECT_EQ(accepted, 4u);  // after the metadata, and after each node but the last
}

TEST(ChakraReader, RandomDamageNeverCrashes) {
  Random random(5);
  const std::string good = small();
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    for (std::uint64_t k = 1 + random.below(4); k > 0; --k)
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    if (random.below(4) == 0) bytes.resize(random.below(bytes.size()));
    const auto graph = read_chakra(bytes, "x.0.et");
    for (std::size_t n = 0; graph && n < graph->nodes.size(); ++n) {
      for (const std::uint32_t dep : graph->deps_of(n)) ASSERT_LT(dep, n);
    }
  }
}

TEST(ChakraReader, OldLayoutGoesByDataDependencies) {
  // Control dependencies there name the caller: by absent ids, and in circles (4 by 5, which waits for 4).
  const ChakraGraph g = read(old_metadata() + node({.id = 4, .control_deps = {5}}) +
                             node({.id = 5, .data_deps = {4}, .control_deps = {1234}}));
  EXPECT_EQ(g.version, "");
  EXPECT_EQ(g.dropped_deps, 2u);
  EXPECT_EQ(g.deps, std::vector<std::uint32_t>{0});
  // Where there is nothing else to go by, they count.
  EXPECT_EQ(read(old_metadata() + node({.id = 4}) + node({.id = 5, .control_deps = {4, 77}})).deps,
            std::vector<std::uint32_t>{0});
}

TEST(ChakraReader, FeederJson) {
  const ChakraGraph g = read(R"({"workload_graph": [
    {"Id": 216, "Name": "flatten", "NodeType": 4, "ctrlDeps": [3], "data_deps": [], "runtime": 318, "is_cpu_op": true},
    {"Id": 435, "Name": "all", "NodeType": 7, "ctrlDeps": [434], "data_deps": [216], "runtime": 28, "is_cpu_op": false, "comm_type": 0, "comm_size": 4096, "pg_name": "1"}
  ], "ngpus": 8})");
  ASSERT_EQ(g.nodes.size(), 2u);
  EXPECT_TRUE(g.nodes[0].on_cpu);
  EXPECT_EQ(g.nodes[0].ps, 318'000'000);
  EXPECT_EQ(g.nodes[1].comm, ChakraComm::all_reduce);
  EXPECT_EQ(g.nodes[1].comm_bytes, 4096);
  EXPECT_EQ(g.text_of(g.nodes[1].group), "1");
  EXPECT_EQ(g.dropped_deps, 2u);
}

TEST(ChakraReader, NamesMembersThatAreNearlyOnesThatAreRead) {
  const auto misspelt = [](const std::string& member) {
    return read(R"({"workload_graph": [{"Id": 1, "Name": "a", "NodeType": 4, "runtime": 5, )" + member + "}]}")
        .misspelt;
  };
  for (const auto& [member, near] : {std::pair(R"("data_dep": [1])", "data_deps"),
                                     {R"("runtim": 5)", "runtime"},
                                     {R"("is_cpuop": true)", "is_cpu_op"},
                                     {R"("commSize": 64)", "comm_size"},
                                     {R"("attr": [{"name": "num_op", "int64Val": 64}])", "num_ops"}}) {
    const auto found = misspelt(member);
    ASSERT_EQ(found.size(), 1u) << member;
    EXPECT_NE(found[0].find("did you mean '" + std::string(near) + "'?"), std::string::npos) << found[0];
  }
  // What PyTorch, the linker and others write as well.
  for (const char* member : {R"("start_time_micros": 3)", R"("outputs": {})", R"("rf_id": 3)", R"("fw_tid": 3)",
                             R"("pg_desc": "x")", R"("comm_priority": 0)",
                             R"("attr": [{"name": "cid", "int64Val": 64}])", R"("data_deps": [])", R"("note": "x")"})
    EXPECT_TRUE(misspelt(member).empty()) << member << ": " << misspelt(member)[0];
}

TEST(ChakraReader, PrintedMessages) {
  const ChakraGraph g = read(
      R"({"version": "0.0.4"} {"id": "7", "name": "k", "type": "COMP_NODE", "durationMicros": "12", "attr": [{"name": "stream", "int64Val": "20"}]}
    {"id": "8", "type": "COMM_COLL_NODE", "ctrlDeps": ["7"], "attr": [{"name": "is_cpu_op", "boolVal": false}, {"name": "comm_type", "int64Val": "6"},
     {"name": "comm_size", "uint64Val": "99"}]})");
  ASSERT_EQ(g.nodes.size(), 2u);
  EXPECT_EQ(g.nodes[0].lane, 20);
  EXPECT_EQ(g.nodes[0].ps, 12'000'000);
  EXPECT_EQ(g.nodes[1].comm, ChakraComm::all_to_all);
  EXPECT_EQ(g.nodes[1].comm_bytes, 99);
  EXPECT_EQ(g.deps, std::vector<std::uint32_t>{0});
}

TEST(ChakraReader, JsonIsRefusedWithItsPlace) {
  EXPECT_EQ(refusal(R"({"workload_graph": 3})"), "x.0.et: workload_graph: found number, expected a list of nodes");
  EXPECT_EQ(refusal(R"({"workload_graph": [{"Id": 1, "NodeType": 4}, 5]})"),
            "x.0.et: node 1: found number, expected an object");
  EXPECT_EQ(refusal(R"({"workload_graph": [{"Id": -1, "NodeType": 4}]})"),
            "x.0.et: node 0: Id: found number, expected a count");
  EXPECT_EQ(refusal(R"({"workload_graph": [{"Id": 1, "NodeType": "nonsense"}]})"),
            "x.0.et: node 0: NodeType: found string, expected a node type from 0 to 7");
  EXPECT_NE(refusal(R"({"workload_graph": [)").find("found no JSON"), std::string::npos);
}

/// Attributes of a collective in the two JSON forms, and one in protocol buffers.
std::string printed(const std::string& attributes) {
  return R"({"version": "0.0.4"} {"id": 1, "type": "COMM_COLL_NODE", "attr": [)" + attributes + "]}";
}
std::string fed(const std::string& fields) {
  return R"({"workload_graph": [{"Id": 1, "NodeType": 7, )" + fields + "}]}";
}
std::string binary(const std::string& attribute) {
  return metadata() + node({.id = 1, .type = 7, .attributes = attribute});
}
std::string real_attribute(std::string_view name, double value) {
  return bytes_field(10, bytes_field(1, name) + varint(3 << 3 | 1) +
                             std::string(reinterpret_cast<const char*>(&value), sizeof(value)));
}

TEST(ChakraReader, WholeNumbersOfAnyTypeAreRead) {
  for (const std::string& text :
       {printed(R"({"name": "comm_size", "int64Val": "4096"})"),
        printed(R"({"name": "comm_size", "doubleVal": 4096.0})"),
        printed(R"({"name": "comm_size", "stringVal": "4096"})"), fed(R"("comm_size": "4096")"),
        binary(text_attribute("comm_size", "4096")), binary(real_attribute("comm_size", 4096))})
    EXPECT_EQ(read(text).nodes.at(0).comm_bytes, 4096) << text;
  for (const std::string& text :
       {printed(R"({"name": "comm_type", "stringVal": "ALL_GATHER"})"), fed(R"("comm_type": "ALL_GATHER")"),
        binary(text_attribute("comm_type", "ALL_GATHER")), binary(text_attribute("comm_type", "2"))})
    EXPECT_EQ(read(text).nodes.at(0).comm, ChakraComm::all_gather) << text;
}

TEST(ChakraReader, FixedNumbersHaveNoSign) {
  const auto fixed = [](std::uint64_t field, std::uint64_t wire, const std::string& bytes) {
    return binary(bytes_field(10, bytes_field(1, "comm_size") + varint(field << 3 | wire) + bytes));
  };
  const std::string three_billion{"\x00\x5e\xd0\xb2", 4};
  EXPECT_EQ(read(fixed(19, 5, three_billion)).nodes.at(0).comm_bytes, 3'000'000'000);
  EXPECT_EQ(read(fixed(21, 1, three_billion + std::string(4, 0))).nodes.at(0).comm_bytes, 3'000'000'000);
  EXPECT_NE(refusal(fixed(21, 1, std::string(8, '\xff'))).find("comm_size: found 18446744073709551615"),
            std::string::npos);
}

TEST(ChakraReader, OtherValuesAreRefused) {
  const std::string whole = ", expected a whole number", node = "x.0.et: node 0: ";
  EXPECT_EQ(refusal(fed(R"("comm_size": "1MB")")), node + "comm_size: found \"1MB\"" + whole);
  EXPECT_EQ(refusal(fed(R"("num_ops": "1e9")")), node + "num_ops: found \"1e9\"" + whole);
  EXPECT_EQ(refusal(fed(R"("comm_size": 1048576.5)")), node + "comm_size: found 1048576.5" + whole);
  EXPECT_EQ(refusal(fed(R"("comm_size": 1e30)")), node + "comm_size: found 1e+30" + whole);
  EXPECT_EQ(refusal(fed(R"("comm_size": null)")), node + "comm_size: found null" + whole);
  EXPECT_EQ(refusal(fed(R"("comm_size": "")")), node + "comm_size: found \"\"" + whole);
  EXPECT_EQ(refusal(fed(R"("comm_size": true)")), node + "comm_size: found true" + whole);
  EXPECT_EQ(refusal(fed(R"("comm_size": [1])")), node + "comm_size: found a list" + whole);
  EXPECT_EQ(refusal(fed(R"("is_cpu_op": "yes")")), node + "is_cpu_op: found \"yes\", expected true or false");
  EXPECT_EQ(
      refusal(fed(R"("comm_type": "GOSSIP")")),
      node + "comm_type: found \"GOSSIP\", expected a number of CollectiveCommType, or a name such as ALL_REDUCE");
  EXPECT_EQ(refusal(binary(text_attribute("comm_size", "1 MB"))),
            "x.0.et: node 1: comm_size: found '1 MB', expected a whole number");
  EXPECT_EQ(refusal(binary(real_attribute("num_ops", 0.5))),
            "x.0.et: node 1: num_ops: found 0.500000, expected a whole number");
  EXPECT_EQ(refusal(binary(integer_attribute("comm_size", 1, 27))),
            "x.0.et: node 1: comm_size: found a truth value, expected a whole number");
}

TEST(ChakraReader, TwoValuesOfOneNameAreRefused) {
  EXPECT_EQ(refusal(fed(R"("comm_size": 1, "comm_size": 2)")),
            "x.0.et: value 0: found 'comm_size' twice in one object, expected it once");
  EXPECT_EQ(refusal(printed(R"({"name": "comm_size", "int64Val": 1}, {"name": "comm_size", "int64Val": 2})")),
            "x.0.et: node 1: comm_size: found 1 and 2, expected one value");
  EXPECT_EQ(refusal(printed(R"({"name": "comm_size", "int32Val": 1, "int64Val": 2})")),
            "x.0.et: node 1: comm_size: found 1 and 2, expected one value");
  EXPECT_EQ(refusal(binary(integer_attribute("comm_size", 1) + integer_attribute("comm_size", 2))),
            "x.0.et: node 1: comm_size: found 1 and 2, expected one value");
}

TEST(ChakraReader, JsonOfAnyKindOfNodeIsKnown) {
  for (const char* kind : {R"("COMM_SEND_NODE")", "5"}) {
    const std::string text =
        R"({"version": "0.0.4"} {"id": "0", "type": )" + std::string(kind) + R"(, "ctrlDeps": []})";
    EXPECT_TRUE(sniff_chakra(look_at(text))) << text;
  }
}

TEST(ChakraReader, ProcessGroupsOfTheTrace) {
  const std::string inputs =
      bytes_field(1, R"(['[{\"pg_name\": \"0\", \"ranks\": []}, {\"pg_name\": \"tp\", \"ranks\": [2, 3]}]'])");
  const ChakraGraph g = read(metadata() + node({.id = 1, .type = 1, .attributes = bytes_field(8, inputs)}));
  ASSERT_EQ(g.groups.size(), 2u);
  EXPECT_EQ(g.groups.at("tp"), (std::vector<std::uint32_t>{2, 3}));
  EXPECT_TRUE(g.groups.at("0").empty());
  EXPECT_EQ(g.job_ranks, 0u);
  const auto with = [](const std::string& groups) {
    return metadata() +
           node({.id = 1, .type = 1, .attributes = bytes_field(8, bytes_field(1, "['[" + groups + "]']"))});
  };
  EXPECT_EQ(read(with(R"({"pg_name": "0", "ranks": [], "group_size": 8})")).job_ranks, 8u);
  EXPECT_EQ(refusal(with(R"({"pg_name": "1", "ranks": ["2"]})")),
            "x.0.et: node 1: process group '1': found \"2\", expected a rank from 0 to 16777215");
  EXPECT_EQ(refusal(with(R"({"pg_name": "1", "ranks": [2]}, {"pg_name": "1", "ranks": [3]})")),
            "x.0.et: node 1: process group '1': found it twice with other ranks, expected it once");
}

TEST(ChakraReader, GroupFile) {
  EXPECT_EQ(read_chakra_groups(R"({"1": [3, 1], "2": [0]})", "g")->at("1"), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(read_chakra_groups(R"({"1": [3, 3]})", "g").error().text(),
            "g: 1: found a rank twice, expected a list of distinct ranks");
  EXPECT_EQ(read_chakra_groups(R"({"1": [0], "1": [1]})", "g").error().text(),
            "g: found the key '1' twice, expected it once");
  EXPECT_EQ(read_chakra_groups(R"({"1": []})", "g").error().text(),
            "g: 1: found no ranks, expected a list of distinct ranks");
  EXPECT_EQ(read_chakra_groups(R"({"1": [-1]})", "g").error().text(),
            "g: 1: found -1, expected a list of distinct ranks");
  EXPECT_FALSE(read_chakra_groups("[1]", "g").ok());
}

TEST(ChakraReader, Gzip) {
  const std::string bytes = small();
  std::string packed(1000, '\0');
  z_stream z{};
  ASSERT_EQ(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = static_cast<uInt>(packed.size());
  ASSERT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  packed.resize(packed.size() - z.avail_out);
  deflateEnd(&z);
  EXPECT_EQ(read(packed).nodes.size(), 4u);
  for (std::size_t n = 2; n < packed.size(); ++n) EXPECT_FALSE(read_chakra(packed.substr(0, n), "x").ok()) << n;
}

TEST(ChakraWriter, WhatIsWrittenReadsBackTheSame) {
  ChakraGraph g = read(small());
  g.nodes[0].ps = 17'000'123;  // beyond whole microseconds
  const ChakraGraph back = read(to_chakra(g));
  EXPECT_TRUE(same_structure(g, back));
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    EXPECT_EQ(back.nodes[n].ps, g.nodes[n].ps);
    EXPECT_EQ(back.nodes[n].id, g.nodes[n].id);
    EXPECT_EQ(back.text_of(back.nodes[n].name), g.text_of(g.nodes[n].name));
  }
}

// Protobuf's own readers refuse a string that is none.
TEST(ChakraWriter, NamesAreUtf8) {
  const ChakraGraph back = read(to_chakra(read(metadata() + node({.id = 0, .type = 1, .name = "a\xff\xC2\xB5"}))));
  EXPECT_EQ(back.text_of(back.nodes[0].name), "a\xEF\xBF\xBD\xC2\xB5");
}

TEST(ChakraWriter, GroupsReadBackTheSame) {
  ChakraGraph g = read(metadata() + node({.id = 0, .type = 1}));
  g.groups = {{"1", {0, 1}}, {"2", {2, 5}}};
  EXPECT_EQ(read(to_chakra(g)).groups, g.groups);
  EXPECT_EQ(*read_chakra_groups(to_chakra_groups(g.groups), "g"), g.groups);
}

class ChakraFiles : public ::testing::Test {
 protected:
  void SetUp() override { dir_ = test::scratch_dir("chakra"); }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::string put(const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(write_file_atomically(dir_ + "/" + name, bytes).ok());
    return dir_ + "/" + name;
  }
  std::string dir_;
};

TEST_F(ChakraFiles, AreFoundByPatternPrefixAndFolderInOrderOfRank) {
  for (int r = 0; r < 12; ++r) put("job." + std::to_string(r) + ".et", small());
  for (const std::string& word : {dir_ + "/job.*.et", dir_ + "/job", dir_}) {
    const auto files = find_chakra_files({word});
    ASSERT_TRUE(files.ok()) << files.error().text();
    ASSERT_EQ(files->size(), 12u);
    EXPECT_EQ((*files)[2], dir_ + "/job.2.et");  // not .10
  }
  std::filesystem::remove(dir_ + "/job.5.et");
  EXPECT_NE(find_chakra_files({dir_}).error().text().find("found rank 6, expected rank 5 before it"),
            std::string::npos);
  put("other.3.et", small());
  EXPECT_NE(find_chakra_files({dir_}).error().text().find("found a second trace of rank 3"), std::string::npos);
  EXPECT_NE(find_chakra_files({dir_ + "/none.*"}).error().text().find("found no such file"), std::string::npos);
}

TEST_F(ChakraFiles, GzippedOnesAreFoundAlike) {
  for (int r = 0; r < 3; ++r) put("job." + std::to_string(r) + ".et.gz", small());
  put("job.1.2.et.gz", small());  // of the prefix job.1
  const auto files = find_chakra_files({dir_ + "/job"});
  ASSERT_TRUE(files.ok()) << files.error().text();
  ASSERT_EQ(files->size(), 3u);
  EXPECT_EQ((*files)[2], dir_ + "/job.2.et.gz");
  std::filesystem::remove(dir_ + "/job.1.2.et.gz");
  EXPECT_EQ(find_chakra_files({dir_})->size(), 3u);
}

TEST_F(ChakraFiles, WhatRanksHaveInCommonIsKeptOnce) {
  const auto timed = [](std::uint64_t micros) {
    return metadata() + node({.id = 0, .micros = micros}) + collective(1, 0, 8, {0});
  };
  const std::vector<std::string> files{put("a.0.et", timed(5)), put("a.1.et", timed(6)), put("a.2.et", timed(5)),
                                       put("a.3.et", small())};
  const auto set = read_chakra_set(files);
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->graphs.size(), 2u);
  EXPECT_EQ(set->same_files, 1u);
  EXPECT_EQ(set->ps_of(0, 0), 5'000'000);
  EXPECT_EQ(set->ps_of(1, 0), 6'000'000);
  EXPECT_EQ(set->ps_of(2, 0), 5'000'000);
  EXPECT_EQ(set->ps_of(3, 0), 17'000'000);
  EXPECT_EQ(read_chakra_set({files[0]}, 1000)->ranks.size(), 1000u);
  EXPECT_FALSE(read_chakra_set(files, 2).ok());
}

TEST(ChakraSamples, FilesOfOthers) {
  const std::string folder = test::data("traces");
  const auto count = [&](const std::string& file) {
    const auto bytes = read_file(folder + "/" + file, 1 << 24);
    return bytes.ok() ? read(*bytes).nodes.size() : 0;
  };
  EXPECT_EQ(count("chakra/chakra.0.et.gz"), test::is_sample("traces") ? 1522u : 3664u);
  EXPECT_EQ(count("chakra/json_trace_small.json"), 7u);
  EXPECT_EQ(count("astra_et/all_reduce_8npus_1MB_all_reduce.0.et"), 1u);
  EXPECT_EQ(count("astra_et/custom_ring_allreduce_8npus_1MB.0.et"), 35u);
}

}  // namespace
}  // namespace distsim::traces
