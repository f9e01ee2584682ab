#include "sim/web/gate.hpp"

#include <gtest/gtest.h>

#include "sim/web/answers/secret.hpp"

namespace distsim::web {
namespace {

TEST(Gate, KnowsTheHostsOfItsUrl) {
  const Gate gate("127.0.0.1", true, 8080, "secret");
  for (const char* host : {"127.0.0.1:8080", "localhost:8080", "LocalHost:8080", "[::1]:8080"})
    EXPECT_TRUE(gate.knows_host(host)) << host;
  for (const char* host :
       {"", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8080:8080", "127.0.0.2:8080", "evil.example:8080",
        "localhost.evil.example:8080", "[::1]", "[::1:8080", ":8080", "127.0.0.1:08080"})
    EXPECT_FALSE(gate.knows_host(host)) << host;
}

TEST(Gate, OnOtherAddressesKnowsAddressesButNoNames) {
  const Gate gate("0.0.0.0", false, 8080, "secret");
  EXPECT_TRUE(gate.knows_host("192.0.2.7:8080"));
  EXPECT_TRUE(gate.knows_host("[fe80::1]:8080"));
  EXPECT_FALSE(gate.knows_host("evil.example:8080"));
  EXPECT_FALSE(gate.knows_host("192.0.2.7.evil.example:8080"));
}

TEST(Gate, WithoutAPortTheHostMeansPort80) {
  EXPECT_TRUE(Gate("127.0.0.1", true, 80, "secret").knows_host("localhost"));
}

TEST(Gate, KnowsItsOwnOrigin) {
  EXPECT_TRUE(Gate::knows_origin("", "localhost:8080"));
  EXPECT_TRUE(Gate::knows_origin("http://localhost:8080", "localhost:8080"));
  for (const char* origin : {"null", "http://localhost", "https://localhost:8080", "http://localhost:80800", "http://"})
    EXPECT_FALSE(Gate::knows_origin(origin, "localhost:8080")) << origin;
}

TEST(Gate, KnowsItsToken) {
  const Gate gate("127.0.0.1", true, 8080, "secret");
  EXPECT_TRUE(gate.knows_token("token=secret"));
  EXPECT_TRUE(gate.knows_token("a=b&token=secret&c"));
  for (const char* query : {"", "token=", "token", "token=secre", "token=secrets", "token=Secret", "xtoken=secret",
                            "token=wrong&token=secret", "token=secretsecret"})
    EXPECT_FALSE(gate.knows_token(query)) << query;
}

TEST(Secret, IsLongAndNewEachTime) {
  const std::string one = random_secret(), other = random_secret();
  EXPECT_EQ(one.size(), 32u);
  EXPECT_NE(one, other);
  EXPECT_TRUE(is_secret(one, one));
  EXPECT_FALSE(is_secret(one, other));
  EXPECT_FALSE(is_secret("", ""));
}

}  // namespace
}  // namespace distsim::web
