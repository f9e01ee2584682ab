// How ranks that were started one by one find each other, and what they say where they do not.
#include <gtest/gtest.h>
#include <unistd.h>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/file.hpp"
#include "command.hpp"

namespace distsim {
namespace {

using test::Finished;

class CollectiveBenchStart : public ::testing::Test {
 protected:
  ~CollectiveBenchStart() override { std::filesystem::remove_all(dir_); }
  const std::string dir_ = test::scratch_dir("collective_bench_start");
};

// Whoever is started: a misspelt host is no rank that is late.
TEST_F(CollectiveBenchStart, AnUnknownHostIsSaid) {
  for (const std::string flags :
       {"no-such-host.invalid,127.0.0.1 --rank 0", "no-such-host.invalid,127.0.0.1 --rank 1",
        "127.0.0.1,no-such-host.invalid --rank 0", "127.0.0.1,no-such-host.invalid --rank 1"}) {
    const Finished f = test::run_command(std::string(BINARY) + " --backend tcp -b 8 -e 8 --hosts " + flags, dir_);
    EXPECT_EQ(f.code, 2) << flags;
    EXPECT_EQ(f.err, "collective_bench: --hosts: found unknown host 'no-such-host.invalid' for rank " +
                         std::string(flags.starts_with("no") ? "0" : "1") + ", expected a host; check its spelling\n");
  }
}

TEST_F(CollectiveBenchStart, RankZeroSaysWhoIsMissing) {
  const Finished f = test::run_command(std::string(BINARY) + " --backend tcp --hosts 127.0.0.1,localhost --port " +
                                           std::to_string(test::free_port()) + " --rank 0 --stall-limit 1 -b 8 -e 8",
                                       dir_);
  EXPECT_EQ(f.code, 3);
  EXPECT_NE(f.err.find("--hosts: rank 1 on 'localhost' did not connect within "), std::string::npos) << f.err;
}

/// A connection to a port of this host, once somebody listens there: on a busy machine a rank takes seconds to start.
int connected_to(int port) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int looks = 0; looks < 1200; ++looks) {
    const int line = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(line, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0) return line;
    ::close(line);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ADD_FAILURE() << "nobody listens at port " << port;
  return -1;
}

/// Waits until a line of this host's port is in that state, for a minute at most: the system's table names the port at its
/// place 2, in hexadecimal, and the state at its place 4.
constexpr const char* kConnected = "01";
constexpr const char* kListening = "0A";
void wait_for_line(int port, const std::string& wanted) {
  char end[8];
  std::snprintf(end, sizeof end, ":%04X", port);
  for (int looks = 0; looks < 1200; ++looks) {
    std::ifstream table("/proc/net/tcp");
    for (std::string line; std::getline(table, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state;
      words >> number >> local >> remote >> state;
      if (local.ends_with(end) && state == wanted) return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ADD_FAILURE() << "no line of port " << port << " is in state " << wanted;
}

/// Ranks of 127.0.0.1 that the shell starts.
std::string by_hand(int port, int hosts, int rank) {
  std::string names;
  for (int i = 0; i < hosts; ++i) names += (i == 0 ? "" : ",") + std::string("127.0.0.1");
  return std::string(BINARY) + " --backend tcp --pair-tests latency -b 8 -e 8 --hosts " + names + " --port " +
         std::to_string(port) + " --rank " + std::to_string(rank);
}

// Of three ranks the last never comes: the two that do end alike.
TEST_F(CollectiveBenchStart, AMissingRankEndsTheOthersAlike) {
  const int port = test::free_port();
  test::Background root(by_hand(port, 3, 0) + " --stall-limit 1 >" + dir_ + "/root 2>&1");
  wait_for_line(port, kListening);
  const Finished f = test::run_command(by_hand(port, 3, 1) + " --stall-limit 1", dir_);
  EXPECT_EQ(f.code, 3);
  EXPECT_NE(f.err.find("rank 2 on '127.0.0.1' did not connect within "), std::string::npos) << f.err;
  EXPECT_EQ(root.end_within(600), 3);
}

// Rank 0 has said no: the others say why, and end as it does.
TEST_F(CollectiveBenchStart, RankZerosRefusalReachesTheOthers) {
  {
    const int port = test::free_port();
    test::Background root(by_hand(port, 3, 0) + " >" + dir_ + "/root 2>&1");
    const Finished f = test::run_command(by_hand(port, 2, 1), dir_);
    EXPECT_EQ(f.code, 2);
    EXPECT_EQ(f.err,
              "collective_bench: rank 0 refuses the job: --hosts: rank 1 was started with 2 --hosts, expected 3\n");
    EXPECT_EQ(root.end_within(600), 2);
  }
  const int port = test::free_port();
  test::Background root(by_hand(port, 3, 0) + " >" + dir_ + "/root 2>&1");
  test::Background first(by_hand(port, 3, 1) + " >" + dir_ + "/first 2>&1");
  const Finished f = test::run_command(by_hand(port, 3, 1), dir_);
  EXPECT_EQ(f.code, 2);
  EXPECT_EQ(f.err, "collective_bench: rank 0 refuses the job: --rank: found two ranks 1\n");
  EXPECT_EQ(root.end_within(600), 2);
  EXPECT_EQ(first.end_within(600), 2);
  EXPECT_EQ(*read_file(dir_ + "/first", 4096), f.err);
}

/// Strangers hold no files that the job needs once all ranks are there.
TEST_F(CollectiveBenchStart, StrangersGoWhenAllRanksAreThere) {
  const int port = test::free_port();
  test::Background root("sh -c 'ulimit -n 60; exec " + by_hand(port, 2, 0) + " --stall-limit 20' >" + dir_ +
                        "/root 2>&1");
  std::vector<int> strangers;
  for (int i = 0; i < 80; ++i) strangers.push_back(connected_to(port));
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const Finished f = test::run_command(by_hand(port, 2, 1) + " --stall-limit 20", dir_);
  EXPECT_EQ(f.code, 0) << f.err;
  EXPECT_EQ(root.end_within(600), 0) << *read_file(dir_ + "/root", 4096);
  for (const int s : strangers) ::close(s);
}

/// The system polls no more lines than a process may have open files: of ranks that have not come there is none to poll.
TEST_F(CollectiveBenchStart, RankZeroWaitsForMoreRanksThanItMayHaveFiles) {
  const int port = test::free_port();
  test::Background root("sh -c 'ulimit -n 40; exec " + by_hand(port, 60, 0) + "' >" + dir_ + "/root 2>&1");
  const Finished f = test::run_command(by_hand(port, 2, 1), dir_);
  EXPECT_EQ(f.err,
            "collective_bench: rank 0 refuses the job: --hosts: rank 1 was started with 2 --hosts, expected 60\n");
  EXPECT_EQ(root.end_within(600), 2);
}

TEST_F(CollectiveBenchStart, ARankThatDiesDuringTheStartIsSaid) {
  const int port = test::free_port();
  test::Background root(by_hand(port, 3, 0) + " >" + dir_ + "/root 2>&1");
  {
    const test::Background first(by_hand(port, 3, 1) + " >/dev/null 2>&1");
    wait_for_line(port, kConnected);
    std::this_thread::sleep_for(std::chrono::seconds(3));  // it says who it is
  }
  EXPECT_EQ(root.end_within(600), 3);
  EXPECT_NE(read_file(dir_ + "/root", 4096)->find("rank 1 on '127.0.0.1' has left while rank 2 on '127.0.0.1' had not"),
            std::string::npos)
      << *read_file(dir_ + "/root", 4096);
}

// Connections of others that say nothing, or something and no more, or leave, hold up nobody.
TEST_F(CollectiveBenchStart, StrangersAtThePortHoldUpNobody) {
  const int port = test::free_port();
  test::Background root(by_hand(port, 2, 0) + " --stall-limit 10 >" + dir_ + "/root 2>&1");
  std::vector<int> strangers;
  for (int i = 0; i < 30; ++i) {
    strangers.push_back(connected_to(port));
  }
  EXPECT_EQ(::send(strangers[3], "x", 1, MSG_NOSIGNAL), 1);
  ::close(strangers[4]);
  const Finished f = test::run_command(by_hand(port, 2, 1) + " --stall-limit 10", dir_);
  EXPECT_EQ(f.code, 0) << f.err;
  EXPECT_EQ(root.end_within(600), 0) << *read_file(dir_ + "/root", 4096);
  for (const int s : strangers) ::close(s);
}

// Each that begins as a rank does and stops amidst it: all of them wait for the rest side by side.
TEST_F(CollectiveBenchStart, HalfAHandshakeHoldsUpNobody) {
  const int port = test::free_port();
  test::Background root(by_hand(port, 2, 0) + " --stall-limit 20 >" + dir_ + "/root 2>&1");
  std::vector<int> strangers;
  for (const std::string words : {"dist", "nocaller"}) {
    for (int i = 0; i < 20; ++i) {
      strangers.push_back(connected_to(port));
      EXPECT_EQ(::send(strangers.back(), words.data(), 4, MSG_NOSIGNAL), 4);
    }
  }
  const Finished f = test::run_command(by_hand(port, 2, 1) + " --stall-limit 20", dir_);
  EXPECT_EQ(f.code, 0) << f.err;
  EXPECT_EQ(root.end_within(600), 0) << *read_file(dir_ + "/root", 4096);
  for (const int s : strangers) ::close(s);
}

TEST_F(CollectiveBenchStart, EveryRankSaysWhyItEnds) {
  const int port = test::free_port();
  test::Background root(by_hand(port, 2, 0) + " --stall-limit 10 >" + dir_ + "/root 2>&1");
  const Finished f = test::run_command(by_hand(port, 2, 1) + " --stall-limit 11", dir_);
  EXPECT_EQ(f.code, 2);
  EXPECT_EQ(root.end_within(600), 2);
  EXPECT_NE(f.err, "");
  EXPECT_NE(*read_file(dir_ + "/root", 4096), "");
}

// What listens at the port is no rank 0: it closes the connection, or answers in its own way.
TEST_F(CollectiveBenchStart, AnotherProgramAtThePortIsSaid) {
  for (const std::string answer : {"", "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"}) {
    const int port = test::free_port(), listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<std::uint16_t>(port));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
    ASSERT_EQ(::listen(listener, 1), 0);
    std::thread other([&] {
      const int line = ::accept(listener, nullptr, nullptr);
      char heard[32];
      (void)!::read(line, heard, sizeof heard);
      (void)!::write(line, answer.data(), answer.size());
      ::close(line);
    });
    const Finished f = test::run_command(by_hand(port, 2, 1), dir_);
    other.join();
    ::close(listener);
    EXPECT_EQ(f.code, 2);
    EXPECT_NE(f.err.find("collective_bench: --port: "), std::string::npos) << f.err;
    EXPECT_NE(f.err.find("another program"), std::string::npos) << f.err;
  }
}

// Wherever the signal finds the rank, also while it waits for the others' words.
TEST_F(CollectiveBenchStart, ASignalToOneRankEndsTheRunInOrder) {
  for (int round = 0; round < 6; ++round) {
    const int port = test::free_port();
    const auto rank = [&](int number) {
      return std::string(BINARY) + " --backend tcp --collectives alltoall -b 1K -e 64M -i 1K -n 2 --hosts " +
             "127.0.0.1,127.0.0.1 --port " + std::to_string(port) + " --rank " + std::to_string(number);
    };
    test::Background root(rank(0) + " >/dev/null 2>" + dir_ + "/root");
    test::Background other(rank(1) + " >/dev/null 2>" + dir_ + "/other");
    std::this_thread::sleep_for(std::chrono::milliseconds(1500 + 37 * round));
    other.interrupt();
    EXPECT_EQ(other.end_within(600), 130) << *read_file(dir_ + "/other", 4096);
    EXPECT_EQ(root.end_within(600), 130) << *read_file(dir_ + "/root", 4096);
  }
}

// Whoever notices names the one that died, and not itself.
TEST_F(CollectiveBenchStart, ARankThatDiesWhileMeasuringIsNamed) {
  for (int pause_ms : {0, 150, 300}) {
    const std::string of_root = dir_ + "/root" + std::to_string(pause_ms);
    const auto said_by_root = [&] {
      const auto text = read_file(of_root, 1 << 20);
      return text.ok() ? *text : "";
    };
    const int port = test::free_port();
    const std::string flags =
        " --backend tcp --collectives alltoall -b 64K -e 64K -n 10000000 --hosts 127.0.0.1,127.0.0.1 --port " +
        std::to_string(port) + " --rank ";
    test::Background root(std::string(BINARY) + flags + "0 >" + of_root + " 2>&1");
    test::Background other(std::string(BINARY) + flags + "1 >" + dir_ + "/other 2>&1");
    for (int looks = 0; looks < 300; ++looks) {
      if (said_by_root().find("#  Rank  1") != std::string::npos) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300 + pause_ms));
    other.send(SIGKILL);
    const auto code = root.end_within(600);
    ASSERT_TRUE(code.has_value());
    EXPECT_NE(*code, 0);
    const std::string said = said_by_root(), line = said.substr(std::min(said.size(), said.find("collective_bench: ")));
    EXPECT_TRUE(line.find("rank 1 has disconnected (") != std::string::npos ||
                line.find("rank 1 on ") != std::string::npos)
        << said;
  }
}

/// Whom a survivor has lost first may have ended because of another, and it cannot know.
TEST_F(CollectiveBenchStart, AmongSeveralALostRankMayHaveEndedForAnother) {
  const int port = test::free_port();
  const std::string flags =
      " --backend tcp --collectives alltoall -b 64K -e 64K -n 10000000 --hosts 127.0.0.1,127.0.0.1,127.0.0.1 --port " +
      std::to_string(port) + " --rank ";
  const auto said_by = [&](int rank) {
    const auto text = read_file(dir_ + "/" + std::to_string(rank), 1 << 20);
    return text.ok() ? *text : "";
  };
  std::vector<std::unique_ptr<test::Background>> ranks;
  for (int r = 0; r < 3; ++r) {
    const std::string rank = std::to_string(r);
    ranks.push_back(
        std::make_unique<test::Background>(std::string(BINARY) + flags + rank + " >" + dir_ + "/" + rank + " 2>&1"));
  }
  for (int looks = 0; looks < 300 && said_by(0).find("#  Rank  2") == std::string::npos; ++looks)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ranks[2]->send(SIGKILL);
  for (int r = 0; r < 2; ++r) {
    ASSERT_TRUE(ranks[r]->end_within(600).has_value());
    EXPECT_TRUE(said_by(r).find("rank 2") != std::string::npos ||
                said_by(r).find(", or ended as another rank had") != std::string::npos)
        << said_by(r);
  }
}

}  // namespace
}  // namespace distsim
