#include "base/text/markup.hpp"

#include <gtest/gtest.h>

namespace distsim {
namespace {

TEST(Markup, TextBecomesFitForElementsAndAttributes) {
  EXPECT_EQ(in_markup("<a b=\"c\" d='e'> & f"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt; &amp; f");
  EXPECT_EQ(in_markup("all_reduce \xC3\xA9"), "all_reduce \xC3\xA9");
  EXPECT_EQ(in_markup(""), "");
  EXPECT_EQ(in_markup("a\n\tb\x1b[0m\r"), "a\n\tb\xEF\xBF\xBD[0m\xEF\xBF\xBD");
}

}  // namespace
}  // namespace distsim
