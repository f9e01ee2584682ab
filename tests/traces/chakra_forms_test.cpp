// Chakra's messages say the same as protocol buffers and printed as JSON.
#include <gtest/gtest.h>

#include <cstring>

#include "base/file.hpp"
#include "base/json/json.hpp"
#include "base/random.hpp"
#include "chakra_bytes.hpp"
#include "test_data.hpp"
#include "test_paths.hpp"
#include "traces/chakra/chakra_reader.hpp"
#include "traces/chakra/chakra_set.hpp"
#include "traces/chakra/chakra_writer.hpp"
#include "traces/files/gunzip.hpp"

namespace distsim::traces {
namespace {

using Printed = nlohmann::ordered_json;

/// One field of a message: a number, or the bytes of the other types.
struct WireField {
  std::uint64_t number = 0, value = 0;
  std::string bytes;
};

std::uint64_t take_varint(std::string_view& in) {
  std::uint64_t out = 0;
  for (int shift = 0; !in.empty(); shift += 7) {
    const auto c = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    out |= std::uint64_t{c & 127u} << shift;
    if (c < 128) break;
  }
  return out;
}

std::string take_bytes(std::string_view& in, std::size_t size) {
  const std::string out(in.substr(0, size));
  in.remove_prefix(out.size());
  return out;
}

std::vector<WireField> fields_of(std::string_view in) {
  std::vector<WireField> out;
  while (!in.empty()) {
    const std::uint64_t tag = take_varint(in);
    WireField f{tag >> 3, 0, ""};
    if ((tag & 7) == 0) f.value = take_varint(in);
    if ((tag & 7) == 1) f.bytes = take_bytes(in, 8);
    if ((tag & 7) == 2) f.bytes = take_bytes(in, take_varint(in));
    if ((tag & 7) == 5) f.bytes = take_bytes(in, 4);
    out.push_back(std::move(f));
  }
  return out;
}

template <typename T>
T as(const std::string& bytes) {
  T out{};
  std::memcpy(&out, bytes.data(), std::min(sizeof out, bytes.size()));
  return out;
}

/// As protobuf's MessageToJson prints them: 64-bit integers as text, enums by name, fields that are zero left out.
Printed printed_attribute(const std::string& bytes) {
  Printed out = Printed::object();
  for (const WireField& f : fields_of(bytes)) {
    const auto zigzag = static_cast<std::int64_t>(f.value >> 1) ^ -static_cast<std::int64_t>(f.value & 1);
    const auto whole = static_cast<std::int64_t>(f.value);
    switch (f.number) {
      case 1:
        out["name"] = f.bytes;
        break;
      case 3:
        out["doubleVal"] = as<double>(f.bytes);
        break;
      case 5:
        out["floatVal"] = as<float>(f.bytes);
        break;
      case 7:
        out["int32Val"] = whole;
        break;
      case 9:
        out["int64Val"] = std::to_string(whole);
        break;
      case 11:
        out["uint32Val"] = f.value;
        break;
      case 13:
        out["uint64Val"] = std::to_string(f.value);
        break;
      case 15:
        out["sint32Val"] = zigzag;
        break;
      case 17:
        out["sint64Val"] = std::to_string(zigzag);
        break;
      case 19:
        out["fixed32Val"] = as<std::uint32_t>(f.bytes);
        break;
      case 21:
        out["fixed64Val"] = std::to_string(as<std::uint64_t>(f.bytes));
        break;
      case 23:
        out["sfixed32Val"] = as<std::int32_t>(f.bytes);
        break;
      case 25:
        out["sfixed64Val"] = std::to_string(as<std::int64_t>(f.bytes));
        break;
      case 27:
        out["boolVal"] = f.value != 0;
        break;
      case 29:
        out["stringVal"] = f.bytes;
        break;
      default:
        out["someList"] = {{"values", Printed::array()}};  // of what, nobody asks
    }
  }
  return out;
}

Printed printed_node(const std::string& bytes) {
  static const char* const kinds[] = {"INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
                                      "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};
  Printed out = Printed::object();
  for (const WireField& f : fields_of(bytes)) {
    if (f.number == 1 && f.value != 0) out["id"] = std::to_string(f.value);
    if (f.number == 2) out["name"] = f.bytes;
    if (f.number == 3) out["type"] = kinds[f.value & 7];
    if (f.number == 7) out["durationMicros"] = std::to_string(f.value);
    if (f.number == 10) out["attr"].push_back(printed_attribute(f.bytes));
    if (f.number == 4 || f.number == 5) {
      std::string_view ids = f.bytes;
      if (ids.empty()) out[f.number == 4 ? "ctrlDeps" : "dataDeps"].push_back(std::to_string(f.value));
      while (!ids.empty()) out[f.number == 4 ? "ctrlDeps" : "dataDeps"].push_back(std::to_string(take_varint(ids)));
    }
    if (f.number == 8) {
      for (const WireField& side : fields_of(f.bytes))
        out["inputs"][side.number == 1 ? "values" : side.number == 2 ? "shapes" : "types"] = side.bytes;
    }
  }
  return out;
}

std::string as_json(std::string_view in) {
  std::string out;
  for (bool first = true; !in.empty(); first = false) {
    const std::string message = take_bytes(in, take_varint(in));
    Printed one = Printed::object();
    if (first) {
      for (const WireField& f : fields_of(message)) {
        if (f.number == 1) one["version"] = f.bytes;
        if (f.number == 2) one["attr"].push_back(printed_attribute(f.bytes));
      }
    } else {
      one = printed_node(message);
    }
    out += one.dump() + "\n";
  }
  return out;
}

std::string bare(const std::string& text) {  // texts are quoted in two ways, and JSON gives a node's place
  std::string out = text.substr(std::min(text.size(), text.find("node ")));
  out = out.substr(std::min(out.size(), out.find(": ")));
  std::erase_if(out, [](char c) { return c == '\'' || c == '"'; });
  return out;
}

void expect_alike(const std::string& protobuf) {
  const auto a = read_chakra(protobuf, "x.0.et");
  const auto b = read_chakra(as_json(protobuf), "x.0.et");
  ASSERT_EQ(a.ok(), b.ok()) << (a.ok() ? b.error().text() : a.error().text()) << "\n" << as_json(protobuf);
  if (!a) {
    const std::string one = bare(a.error().text()), other = bare(b.error().text());
    EXPECT_EQ(one.substr(0, one.find("found")), other.substr(0, other.find("found")));
    return;
  }
  EXPECT_EQ(a->version, b->version);
  EXPECT_EQ(a->set_ranks, b->set_ranks);
  EXPECT_EQ(a->set_job, b->set_job);
  EXPECT_EQ(a->dropped_deps, b->dropped_deps);
  EXPECT_EQ(a->misspelt, b->misspelt);
  EXPECT_TRUE(same_structure(*a, *b));
  ASSERT_EQ(a->nodes.size(), b->nodes.size());
  for (std::size_t i = 0; i < a->nodes.size(); ++i) {
    EXPECT_EQ(a->nodes[i].id, b->nodes[i].id);
    EXPECT_EQ(a->nodes[i].ps, b->nodes[i].ps);
    EXPECT_EQ(a->text_of(a->nodes[i].name), b->text_of(b->nodes[i].name));
  }
}

/// What distsim writes of the first 2 of 4 ranks.
std::string of_a_part() {
  ChakraGraph g;
  g.set_ranks = 2;
  g.set_job = (std::uint64_t{1} << 62) + 12345;
  g.job_ranks = 4;
  g.groups = {{"all", {0, 1, 2, 3}}, {"tensor", {0, 1}}};
  g.text = "init";
  g.nodes.push_back({.id = 1, .name = {0, 4}, .kind = ChakraKind::metadata});
  g.nodes.push_back({.id = 7, .ps = 3'000'123, .operations = 5, .lane = 2, .kind = ChakraKind::compute});
  g.dep_offsets = {0, 0, 1};
  g.deps = {0};
  return to_chakra(g);
}

TEST(ChakraForms, MetadataSaysTheSame) {
  const auto of_json = read_chakra(as_json(of_a_part()), "x.0.et");
  ASSERT_TRUE(of_json.ok()) << of_json.error().text();
  EXPECT_EQ(of_json->set_ranks, 2u);
  EXPECT_EQ(of_json->job_ranks, 4u);
  EXPECT_EQ(of_json->set_job, (std::uint64_t{1} << 62) + 12345);
  EXPECT_EQ(of_json->groups.at("tensor"), (std::vector<std::uint32_t>{0, 1}));
  expect_alike(of_a_part());
  expect_alike(old_metadata() + node({.id = 4, .control_deps = {5}}) + node({.id = 5, .data_deps = {4}}));
}

TEST(ChakraForms, ASetThatLacksARankIsRefusedInEither) {
  const std::string folder = test::scratch_dir("chakra_forms");
  for (const std::string& bytes : {of_a_part(), as_json(of_a_part())}) {
    ASSERT_TRUE(write_file_atomically(folder + "/a.0.et", bytes).ok());
    const auto one = read_chakra_set({folder + "/a.0.et"});
    ASSERT_FALSE(one.ok());
    EXPECT_NE(one.error().text().find("found 1 trace, expected the 2 that this one was written with"),
              std::string::npos)
        << one.error().text();
    ASSERT_TRUE(write_file_atomically(folder + "/a.1.et", bytes + (bytes[0] == '{' ? "\n" : "")).ok());
    const auto both = read_chakra_set({folder + "/a.0.et", folder + "/a.1.et"});
    ASSERT_TRUE(both.ok()) << both.error().text();
    EXPECT_EQ(both->job_ranks, 4u);
  }
  std::filesystem::remove_all(folder);
}

TEST(ChakraForms, IdsMayBeAnyOf64Bits) {
  expect_alike(metadata() + node({.id = UINT64_MAX - 1}) + node({.id = UINT64_MAX, .data_deps = {UINT64_MAX - 1}}));
}

TEST(ChakraForms, TheOrderOfFieldsMeansNothing) {
  // The attributes of the first node come before its kind, and its time after duration_ps.
  const std::string early = message(integer_attribute("comm_src", 3) + integer_attribute("duration_ps", 5) +
                                    number_field(1, 2) + bytes_field(2, "n") + number_field(3, 6) + number_field(7, 9));
  expect_alike(metadata() + early);
  const auto read = read_chakra(metadata() + early, "x.0.et");
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->nodes[0].peer, 3);
  EXPECT_EQ(read->nodes[0].ps, 5);
  const auto fed = read_chakra(
      R"({"workload_graph": [{"Id": 2, "duration_ps": 5, "runtime": 9, "comm_src": 3, "NodeType": 6}]})", "x.0.et");
  ASSERT_TRUE(fed.ok()) << fed.error().text();
  EXPECT_EQ(fed->nodes[0].ps, 5);
}

TEST(ChakraForms, TwoMembersOfOneMeaningAreRefused) {
  const auto two = read_chakra(R"({"workload_graph": [{"Id": 2, "durationMicros": 5, "runtime": 9}]})", "x.0.et");
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.error().text(), "x.0.et: node 0: found 'durationMicros' and 'runtime', expected one of them");
}

TEST(ChakraForms, EveryTypeOfEveryAttributeIsTakenAlike) {
  Random random(17);
  const auto little = [](auto value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
  const auto value = [&](int field) -> std::string {
    const std::uint64_t numbers[] = {0, 1, 2, 7, 1 << 20, INT64_MAX, UINT64_MAX};
    const std::uint64_t n = numbers[random.below(7)];
    const auto tag = [&](unsigned wire) { return varint(static_cast<std::uint64_t>(field) << 3 | wire); };
    if (field == 3) return tag(1) + little(random.below(2) == 0 ? 0.5 : static_cast<double>(n & 0xffff));
    if (field == 5) return tag(5) + little(random.below(2) == 0 ? 0.5f : static_cast<float>(n & 0xffff));
    if (field == 21 || field == 25) return tag(1) + little(n);
    if (field == 19 || field == 23) return tag(5) + little(static_cast<std::uint32_t>(n));
    if (field == 27) return number_field(field, n & 1);
    if (field == 7) return number_field(field, static_cast<std::uint64_t>(static_cast<std::int32_t>(n)));
    if (field == 11 || field == 15) return number_field(field, n & 0xffff'ffff);
    const char* const texts[] = {"", "0", "12", "x", "1 MB", "ALL_GATHER", "true"};
    return field == 29 ? bytes_field(field, texts[random.below(7)]) : number_field(field, n);
  };
  const char* const names[] = {"comm_size",   "comm_type", "comm_dst",   "comm_src", "comm_tag",
                               "pg_name",     "is_cpu_op", "num_ops",    "stream",   "tid",
                               "duration_ps", "num_op",    "tensor_size"};
  for (int i = 0; i < 4000 && !HasFailure(); ++i) {
    std::string attributes;
    for (std::uint64_t k = 1 + random.below(3); k > 0; --k) {
      const int field = 3 + 2 * static_cast<int>(random.below(14));  // 3, 5, .. 29
      const bool has_value = random.below(20) != 0;
      attributes += bytes_field(10, bytes_field(1, names[random.below(13)]) + (has_value ? value(field) : ""));
    }
    expect_alike(metadata() +
                 node({.id = 1, .type = static_cast<int>(random.below(8)), .micros = 4, .attributes = attributes}));
    const char* const facts[] = {"distsim_set_ranks", "distsim_set_job", "distsim_job_ranks", "other"};
    const int field = 3 + 2 * static_cast<int>(random.below(14));
    expect_alike(
        message(bytes_field(1, "0.0.4") + bytes_field(2, bytes_field(1, facts[random.below(4)]) + value(field))) +
        node({.id = 1}));
  }
}

TEST(ChakraForms, FilesOfOthersSayTheSame) {
  const std::string folder = test::data("traces");
  for (const char* file : {"chakra/chakra.0.et.gz", "astra_et/all_reduce_8npus_1MB_all_reduce.0.et",
                           "astra_et/custom_ring_allreduce_8npus_1MB.3.et"}) {
    auto bytes = read_file(folder + "/" + file, 1 << 24);
    ASSERT_TRUE(bytes.ok()) << bytes.error().text();
    if (is_gzip(*bytes)) bytes = gunzip(*bytes, file, {});
    ASSERT_TRUE(bytes.ok());
    expect_alike(*bytes);
  }
}

}  // namespace
}  // namespace distsim::traces
