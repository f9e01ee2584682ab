// The binary form of a curve file: the same curves as its text form, and no form of damage read as curves.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "collectives/curve_file/curve.pb.h"
#include "collectives/curves/curve_set.hpp"

namespace distsim::collectives {
namespace {

constexpr const char* kText = R"(version: 1 system: "here" curve_count: 1
curves { kind: "all_reduce" ranks: 2 nodes: 1 launch: "mpi"
  points { bytes: 8 time_us: 1.5 low_us: 1.25 high_us: 2 statistics { samples: 20 median_us: 1.5 } }
  points { bytes: 1024 time_us: 3 } })";

std::string binary() {
  curves::CurveFile message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kText, &message));
  message.set_checksum(checksum_of(*parse_curve_text(kText, "x")));
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
    if (set.ok()) {  // what stands after the rows may be cut
      EXPECT_EQ(curve_text(*set), rows) << length;
    }
  }
}

TEST(CurveBinary, WithoutAChecksumItIsRefused) {
  curves::CurveFile message;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kText, &message));
  EXPECT_FALSE(parse_curve_binary(message.SerializeAsString(), "x").ok());
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
