// The binary form of a curve file: the same curves as its text form, and no form of damage read as curves.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/random.hpp"
#include "collectives/curve_file/curve.pb.h"
#include "collectives/curve_file/curve_checksum.hpp"
#include "collectives/curves/curve_set.hpp"

namespace distsim::collectives {
namespace {

constexpr const char* kText = R"(version: 1 system: "here" curve_count: 1
curves { kind: "all_reduce" ranks: 2 nodes: 1 launch: "mpi"
  points { bytes: 8 time_us: 1.5 low_us: 1.25 high_us: 2 statistics { samples: 20 median_us: 1.5 } }
  points { bytes: 1024 time_us: 3 } })";

std::string binary(const std::string& text = kText) {
  curves::CurveFile message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  message.set_checksum(curves::checksum_of(message));
  return message.SerializeAsString();
}

TEST(CurveBinary, HoldsWhatTheTextHolds) {
  ASSERT_TRUE(begins_binary_curve_file(binary()));
  EXPECT_FALSE(begins_binary_curve_file(kText));
  const auto set = parse_curve_binary(binary(), "x.curve.pb");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(curve_text(*set), curve_text(*parse_curve_text(kText, "x")));
  EXPECT_EQ(set->curves.front().points.front().low_us, 1.25);
}

TEST(CurveBinary, NoTruncationLosesRowsUnseen) {
  const std::string whole = binary(), rows = curve_text(*parse_curve_binary(whole, "x"));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto set = parse_curve_binary(std::string_view(whole).substr(0, length), "x");
    if (set.ok()) {  // fields after the rows may be cut
      EXPECT_EQ(curve_text(*set), rows) << length;
    }
  }
}

TEST(CurveBinary, PercentilesLieAroundTheirTime) {
  std::string text = kText;
  text.replace(text.find("1.25"), 4, "1.75");
  const auto set = parse_curve_binary(binary(text), "x");
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.error().text(), "x: low_us: found 1.75, expected at most time_us, 1.5; the file may be damaged");
}

TEST(CurveBinary, WithoutAChecksumItIsRefused) {
  curves::CurveFile message;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kText, &message));
  EXPECT_FALSE(parse_curve_binary(message.SerializeAsString(), "x").ok());
}

TEST(CurveBinary, UnknownFieldsAreNamedWithoutAPlaceInAText) {
  const auto foreign = parse_curve_binary(binary() + "\xf8\x07\x01", "x");  // field 127
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().text(),
            "x: found fields that curve files do not have, expected none; the file may be damaged");
}

TEST(CurveChecksum, CoversWhatAPriceDependsOn) {
  curves::CurveFile message;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kText, &message));
  const std::string sum = curves::checksum_of(message);
  EXPECT_EQ(sum.size(), 16u);
  curves::CurveFile same = message;
  same.mutable_curves(0)->set_library("another");
  same.mutable_curves(0)->add_points()->set_flagged(true);
  EXPECT_EQ(curves::checksum_of(same), sum) << "neither notes nor rows that are not used";
  for (const auto& change : std::vector<std::function<void(curves::Curve&)>>{
           [](curves::Curve& c) { c.set_kind("all_gather"); }, [](curves::Curve& c) { c.set_ranks(4); },
           [](curves::Curve& c) { c.set_nodes(2); }, [](curves::Curve& c) { c.set_launch("single_process"); },
           [](curves::Curve& c) { c.set_cuda_graph(true); }, [](curves::Curve& c) { c.set_settings("NCCL_ALGO=Ring"); },
           [](curves::Curve& c) { c.set_groups_at_once(2); },
           [](curves::Curve& c) { c.mutable_points(1)->set_time_us(3.5); },
           [](curves::Curve& c) { c.mutable_points(1)->set_flagged(true); }}) {
    curves::CurveFile other = message;
    change(*other.mutable_curves(0));
    EXPECT_NE(curves::checksum_of(other), sum) << other.ShortDebugString();
  }
}

TEST(CurveBinary, DamageNeverCrashes) {
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = binary();
    for (int i = 0; i < 3; ++i) bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    const auto set = parse_curve_binary(bytes, "x");
    if (set.ok()) {
      EXPECT_FALSE(set->curves.empty());
    }
  }
}

}  // namespace
}  // namespace distsim::collectives
