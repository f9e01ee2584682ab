#include "base/config/schema.hpp"

#include "base/config/config_path.hpp"

#include <gtest/gtest.h>

namespace distsim {
namespace {

enum class Shape { mesh, ring };

struct Port {
  std::int64_t lanes = 4;
  BytesPerSecond bandwidth{25e9};
};
struct Extra {
  double share = 0.5;
};
struct Box {
  std::string name;
  std::int64_t nodes = 1;
  std::int32_t small = 1;
  double efficiency = 0.9;
  bool sharp = false;
  Bytes memory{0};
  Duration latency = Duration::nanoseconds(700);
  Hertz clock{1e9};
  Watts power{400};
  Shape shape = Shape::ring;
  std::vector<std::int64_t> layers;
  std::vector<std::string> aliases;
  std::map<std::string, FlopsPerSecond> peak;
  Port port;
  std::vector<Port> ports;
  std::optional<Extra> extra;
};

Schema<Port> port_schema() {
  Schema<Port> s("port", "One port.");
  s.required("bandwidth", &Port::bandwidth, {1e8, 1e13}, "Rate per direction.");
  s.optional("lanes", &Port::lanes, {1, 16}, "Lanes.");
  return s;
}

Schema<Box> box_schema() {
  Schema<Extra> extra("extra", "More.");
  extra.optional("share", &Extra::share, {0, 1}, "A share.");
  Schema<Box> s("box", "A box.");
  s.required("name", &Box::name, "Its name.");
  s.optional("nodes", &Box::nodes, {1, 1024}, "Nodes.");
  s.optional("small", &Box::small, {-1e18, 1e18}, "A small integer.");
  s.optional("efficiency", &Box::efficiency, {0.01, 1}, "Share.");
  s.optional("sharp", &Box::sharp, "Switches reduce.");
  s.optional("memory", &Box::memory, {1e6, 1e13}, "Memory.");
  s.optional("latency", &Box::latency, {0, 1e-3}, "Latency.");
  s.optional("clock", &Box::clock, {1e6, 1e10}, "Clock.");
  s.optional("power", &Box::power, {}, "Power.");
  s.choice("shape", &Box::shape, {{"mesh", Shape::mesh}, {"ring", Shape::ring}}, "Shape.");
  s.scalars("layers", &Box::layers, {1, 4096}, "Widths.", false, 4);
  s.scalars("aliases", &Box::aliases, {}, "Other names.");
  s.table("peak", &Box::peak, {"fp16", "fp32"}, {1e9, 1e17}, "Peak rates.");
  s.nested("port", &Box::port, port_schema());
  s.nested("extra", &Box::extra, extra);
  s.list("ports", &Box::ports, port_schema(), false, 2);
  s.rule([](const Box& b) -> std::optional<std::string> {
    if (b.nodes != 13) return std::nullopt;
    return "nodes: found 13, expected luck";
  });
  return s;
}

Result<Box> read(const std::string& text) { return box_schema().read(*parse_yaml(text, "x.yaml")); }
std::string box_error(const std::string& text) {
  const auto box = read(text);
  return box.ok() ? "no error" : box.error().text();
}

TEST(Schema, ReadsEveryKindOfField) {
  const auto box = read(
      "name: b\nnodes: 4\nsmall: -3\nefficiency: 0.5\nsharp: true\nmemory: 40 GiB\nlatency: 1.9 us\nclock: 1410 MHz\npower: 300 W\nshape: mesh\n"
      "layers: [512, 256]\naliases: [8, x]\npeak: {fp16: 312 TFLOP/s}\nport: {bandwidth: 200 Gb/s}\nextra: {share: 1}\n"
      "ports:\n- {bandwidth: 1 GB/s, lanes: 2}\n- {bandwidth: 2 GB/s}\n");
  ASSERT_TRUE(box.ok()) << box.error().text();
  EXPECT_EQ(box->name, "b");
  EXPECT_EQ(box->nodes, 4);
  EXPECT_EQ(box->small, -3);
  EXPECT_DOUBLE_EQ(box->efficiency, 0.5);
  EXPECT_TRUE(box->sharp);
  EXPECT_EQ(box->memory, Bytes(40LL << 30));
  EXPECT_EQ(box->latency, Duration::nanoseconds(1900));
  EXPECT_DOUBLE_EQ(box->clock.value(), 1410e6);
  EXPECT_DOUBLE_EQ(box->power.value(), 300);
  EXPECT_EQ(box->shape, Shape::mesh);
  EXPECT_EQ(box->layers, (std::vector<std::int64_t>{512, 256}));
  EXPECT_EQ(box->aliases, (std::vector<std::string>{"8", "x"}));  // numbers serve as text
  EXPECT_DOUBLE_EQ(box->peak.at("fp16").value(), 312e12);
  EXPECT_DOUBLE_EQ(box->port.bandwidth.value(), 25e9);
  ASSERT_TRUE(box->extra);
  EXPECT_DOUBLE_EQ(box->extra->share, 1);
  ASSERT_EQ(box->ports.size(), 2u);
  EXPECT_EQ(box->ports[0].lanes, 2);
  EXPECT_EQ(box->ports[1].lanes, 4);
}

/// Times are whole picoseconds and sizes whole bytes: what is given does not turn into what is not.
TEST(Schema, RefusesWhatRoundsToNone) {
  EXPECT_EQ(box_error("name: b\nlatency: 1e-13 s\n"),
            "x.yaml:2:10: box.latency: found '1e-13 s', expected 0 s, or at least 1 ps");
  EXPECT_EQ(read("name: b\nlatency: 0 s\n")->latency, Duration());
  EXPECT_EQ(read("name: b\nlatency: 0.6 ps\n")->latency, Duration::picoseconds(1));
  struct Sized {
    Bytes size{7};
  };
  Schema<Sized> s("sized", "A size.");
  s.optional("size", &Sized::size, {0, 1e9}, "Size.");
  EXPECT_EQ(s.read(*parse_yaml("size: 0.4 B", "x.yaml")).error().text(),
            "x.yaml:1:7: sized.size: found '0.4 B', expected 0 B, or at least 1 B");
  EXPECT_EQ(s.read(*parse_yaml("size: 0 B", "x.yaml"))->size, Bytes(0));
}

/// A rule that a file keeps by itself is broken by what was laid on it.
TEST(Schema, RulesBlameWhatWasLaidOnTheFile) {
  struct Pair {
    std::int64_t least = 1, most = 9;
  };
  Schema<Pair> s("pair", "Two.");
  s.optional("least", &Pair::least, {0, 99}, "The least.");
  s.optional("most", &Pair::most, {0, 99}, "The most.");
  s.rule([](const Pair& p) -> std::optional<std::string> {
    if (p.least <= p.most) return std::nullopt;
    return "least: found " + std::to_string(p.least) + ", expected at most most, " + std::to_string(p.most);
  });
  const auto place = [&](const std::string& file, const std::string& over, const std::string& set) {
    ConfigNode node = *parse_yaml(file, "file.yaml");
    EXPECT_TRUE(merge_config(node, *parse_yaml(over, "over.yaml")).ok());
    if (!set.empty()) {
      EXPECT_TRUE(set_config_path(node, set, "3").ok());
    }
    const auto read = s.read(node);
    return read.ok() ? "" : read.error().where;
  };
  EXPECT_EQ(place("{least: 5, most: 6}", "{most: 4}", ""), "over.yaml:1:8");
  EXPECT_EQ(place("{least: 5, most: 6}", "{most: 9}", "most"), "--set most");
  EXPECT_EQ(place("{least: 5, most: 6}", "{least: 7}", ""), "over.yaml:1:9");
  EXPECT_EQ(place("{least: 5, most: 6}", "{least: 4}", "most"), "--set most");
  EXPECT_EQ(place("{least: 5}", "{most: 4}", ""), "over.yaml:1:8");
  EXPECT_EQ(place("{least: 5, most: 4}", "{}", ""), "file.yaml:1:9");
}

TEST(Schema, DefaultsAreTheMembersInitialisers) {
  const auto box = read("name: b\n");
  ASSERT_TRUE(box.ok());
  EXPECT_EQ(box->nodes, 1);
  EXPECT_EQ(box->latency, Duration::nanoseconds(700));
  EXPECT_EQ(box->shape, Shape::ring);
  EXPECT_FALSE(box->extra);
}

TEST(Schema, BoundsBelongToTheRange) {
  EXPECT_TRUE(read("name: b\nnodes: 1\n").ok());
  EXPECT_TRUE(read("name: b\nnodes: 1024\n").ok());
  EXPECT_TRUE(read("name: b\nefficiency: 1\n").ok());
  EXPECT_TRUE(read("name: b\nlatency: 0 s\n").ok());
  EXPECT_TRUE(read("name: b\nlatency: 1 ms\n").ok());
}

struct RefusedBox {
  std::string text, message;
};
class SchemaRefusal : public testing::TestWithParam<RefusedBox> {};
TEST_P(SchemaRefusal, NamesKeyFindingAndExpectation) {
  EXPECT_EQ(box_error("name: b\n" + GetParam().text), "x.yaml:" + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Scalars, SchemaRefusal,
    testing::Values(
        RefusedBox{"nodes: 0", "2:8: box.nodes: found '0', expected 1 .. 1024"},
        RefusedBox{"nodes: 4e9", "2:8: box.nodes: found '4e9', expected 1 .. 1024"},
        RefusedBox{"nodes: -1", "2:8: box.nodes: found '-1', expected 1 .. 1024"},
        RefusedBox{"nodes: 1.5", "2:8: box.nodes: found '1.5', expected an integer"},
        RefusedBox{"nodes: four", "2:8: box.nodes: found 'four', expected an integer"},
        RefusedBox{"nodes:", "2:1: box.nodes: found nothing, expected an integer"},
        RefusedBox{"nodes: [1]", "2:8: box.nodes: found a list of 1, expected an integer"},
        RefusedBox{"small: 3e9", "2:8: box.small: found '3e9', expected -2147483648 .. 2147483647"},
        RefusedBox{"efficiency: 1.01", "2:13: box.efficiency: found '1.01', expected 0.01 .. 1"},
        RefusedBox{"efficiency: nan", "2:13: box.efficiency: found 'nan', expected a number"},
        RefusedBox{"efficiency: inf", "2:13: box.efficiency: found 'inf', expected a number"},
        RefusedBox{"sharp: yes", "2:8: box.sharp: found 'yes', expected true or false"},
        RefusedBox{"memory: 40", "2:9: box.memory: found '40', expected a size with its unit, e.g. 40 MiB"},
        RefusedBox{"memory: 1 KB", "2:9: box.memory: found '1 KB', expected 1 MB .. 10 TB"},
        RefusedBox{"latency: -1 us", "2:10: box.latency: found '-1 us', expected 0 s .. 1 ms"},
        RefusedBox{"latency: 2 ms", "2:10: box.latency: found '2 ms', expected 0 s .. 1 ms"},
        RefusedBox{"latency: {a: 1}", "2:10: box.latency: found a map, expected a time with its unit, e.g. 1.9 us"},
        RefusedBox{"clock: 1410", "2:8: box.clock: found '1410', expected a clock rate with its unit, e.g. 1410 MHz"},
        RefusedBox{"power: -1 W", "2:8: box.power: found '-1 W', expected 0 W or more"},
        RefusedBox{"shape: rign", "2:8: box.shape: found 'rign', expected one of mesh, ring; did you mean 'ring'?"},
        RefusedBox{"shape: star", "2:8: box.shape: found 'star', expected one of mesh, ring"},
        RefusedBox{"shape: [mesh]", "2:8: box.shape: found a list of 1, expected one of mesh, ring"}));

INSTANTIATE_TEST_SUITE_P(
    Structure, SchemaRefusal,
    testing::Values(
        RefusedBox{"nodse: 1", "2:1: box.nodse: found an unknown key, expected a key of box; did you mean 'nodes'?"},
        RefusedBox{
            "port: {bandwith: 1 GB/s}",
            "2:8: box.port.bandwith: found an unknown key, expected a key of box.port; did you mean 'bandwidth'?"},
        RefusedBox{"port: {lanes: 2}", "2:7: box.port.bandwidth: missing, expected bytes/s; Rate per direction."},
        RefusedBox{"port: 3", "2:7: box.port: found '3', expected a map"},
        RefusedBox{"extra: {share: 2}", "2:16: box.extra.share: found '2', expected 0 .. 1"},
        RefusedBox{"layers: 3", "2:9: box.layers: found '3', expected a list"},
        RefusedBox{"layers: [1, 0]", "2:13: box.layers[1]: found '0', expected 1 .. 4096"},
        RefusedBox{"layers: [1, 1, 1, 1, 1]", "2:9: box.layers: found a list of 5, expected at most 4 items"},
        RefusedBox{"peak: {fp61: 1 TFLOP/s}",
                   "2:8: box.peak.fp61: found an unknown key, expected a key of box.peak; did you mean 'fp16'?"},
        RefusedBox{"peak: {fp16: 1}",
                   "2:14: box.peak.fp16: found '1', expected a compute rate with its unit, e.g. 312 TFLOP/s"},
        RefusedBox{"peak: [1]", "2:7: box.peak: found a list of 1, expected a map"},
        RefusedBox{"ports: {a: 1}", "2:8: box.ports: found a map, expected a list"},
        RefusedBox{"ports: [{bandwidth: 1 GB/s}, {bandwidth: 1}]",
                   "2:42: box.ports[1].bandwidth: found '1', expected a rate with its unit, e.g. 25 GB/s"},
        RefusedBox{"ports: [{bandwidth: 1 GB/s}, 7]", "2:30: box.ports[1]: found '7', expected a map"},
        RefusedBox{"ports: [{}, {}, {}]", "2:8: box.ports: found a list of 3, expected at most 2 items"},
        RefusedBox{"\"no\\ndes\": 1",
                   "2:1: box.no\\x0ades: found an unknown key, expected a key of box; did you mean 'nodes'?"}));

TEST(Schema, RequiredKeysAndRules) {
  EXPECT_EQ(box_error("nodes: 1\n"), "x.yaml:1:1: box.name: missing, expected text; Its name.");
  EXPECT_EQ(box_error("name: b\nnodes: 13\n"), "x.yaml:2:8: box.nodes: found 13, expected luck");
  EXPECT_EQ(box_error("[1]"), "x.yaml:1:1: box: found a list of 1, expected a map");
}

struct Times {
  Duration t;
  std::uint16_t count = 0;
};

TEST(Schema, RangesNeverExceedTheType) {
  Schema<Times> s("times", "Times without a range of their own.");
  s.optional("t", &Times::t, {}, "A time.");
  s.optional("count", &Times::count, {-5, 1e9}, "A count.");
  const auto error = [&](const std::string& text) { return s.read(*parse_yaml(text, "x")).error().text(); };
  EXPECT_EQ(error("t: 300 h"), "x:1:4: times.t: found '300 h', expected 0 s .. 1e+06 s");
  EXPECT_EQ(error("t: -1 s"), "x:1:4: times.t: found '-1 s', expected 0 s .. 1e+06 s");
  EXPECT_EQ(error("count: 65536"), "x:1:8: times.count: found '65536', expected 0 .. 65535");
  EXPECT_EQ(error("count: -1"), "x:1:8: times.count: found '-1', expected 0 .. 65535");
}

TEST(Schema, ReadIntoKeepsWhatIsNotGiven) {
  Port port;
  port.lanes = 8;
  ASSERT_TRUE(port_schema().read_into(port, *parse_yaml("bandwidth: 1 GB/s", "x"), "port").ok());
  EXPECT_EQ(port.lanes, 8);
}

TEST(Schema, DocsHaveALineForEveryKeyInOrder) {
  const Schema<Box> schema = box_schema();
  std::vector<std::string> keys;
  std::map<std::string, FieldDoc> docs;
  for (const FieldDoc& d : schema.docs()) {
    keys.push_back(d.key);
    docs[d.key] = d;
  }
  const std::vector<std::string> expected{
      "name",  "nodes",       "small",  "efficiency",        "sharp",        "memory", "latency",        "clock",
      "power", "shape",       "layers", "aliases",           "peak",         "port",   "port.bandwidth", "port.lanes",
      "extra", "extra.share", "ports",  "ports[].bandwidth", "ports[].lanes"};
  EXPECT_EQ(keys, expected);
  EXPECT_EQ(docs["name"].fallback, "required");
  EXPECT_EQ(docs["nodes"].type, "integer");
  EXPECT_EQ(docs["nodes"].range, "1 .. 1024");
  EXPECT_EQ(docs["nodes"].fallback, "1");
  EXPECT_EQ(docs["latency"].type, "time");
  EXPECT_EQ(docs["latency"].range, "0 s .. 1 ms");
  EXPECT_EQ(docs["latency"].fallback, "700 ns");
  EXPECT_EQ(docs["power"].range, "0 W or more");
  EXPECT_EQ(docs["shape"].type, "one of mesh, ring");
  EXPECT_EQ(docs["shape"].fallback, "ring");
  EXPECT_EQ(docs["layers"].type, "list of integer");
  EXPECT_EQ(docs["peak"].type, "map to FLOP/s");
  EXPECT_EQ(docs["port.bandwidth"].range, "100 MB/s .. 10 TB/s");
  EXPECT_EQ(docs["extra"].fallback, "absent");
  EXPECT_EQ(docs["extra"].doc, "More.");
}

TEST(SchemaDeathTest, AKeyIsDeclaredOnce) {
  EXPECT_DEATH(
      {
        Schema<Port> s = port_schema();
        s.optional("lanes", &Port::lanes, {1, 2}, "Again.");
      },
      "key declared twice: lanes");
}

}  // namespace
}  // namespace distsim
