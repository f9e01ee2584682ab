#include "base/system/write_all.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

#include "base/system/descriptor.hpp"

namespace distsim {
namespace {

/// More than a pipe holds, into one that does not block and whose reader is late.
TEST(WriteAll, WaitsForAPipeThatDoesNotBlock) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Descriptor out(ends[0]);
  Descriptor in(ends[1]);
  ASSERT_EQ(::fcntl(in.get(), F_SETFL, O_NONBLOCK), 0);
  std::string text(std::size_t{1} << 20, ' '), got;
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 26);
  std::thread reader([&] {
    ::usleep(20'000);
    char chunk[4096];
    for (ssize_t n = 0; (n = ::read(out.get(), chunk, sizeof chunk)) > 0;)
      got.append(chunk, static_cast<std::size_t>(n));
  });
  EXPECT_TRUE(write_all(in.get(), text.data(), text.size()));
  in.close();
  reader.join();
  EXPECT_EQ(got, text);
}

TEST(WriteAll, SaysWhyItCannot) {
  EXPECT_TRUE(write_all(-1, "", 0));
  EXPECT_FALSE(write_all(-1, "x", 1));
  EXPECT_EQ(errno, EBADF);
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_FALSE(write_all(full.get(), "x", 1));
  EXPECT_EQ(errno, ENOSPC);
}

}  // namespace
}  // namespace distsim
