// Pages without scripts: curves as SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace distsim::serving {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct Axis {
  std::string title;
  bool logarithmic = false;
};

/// Curves over two axes, with ticks at both ends and a legend. Empty where there is no point.
std::string chart(const std::vector<Curve>& curves, const Axis& x, const Axis& y);

/// Of a page with a table, up to its heading. `title`: as it is, not in markup.
std::string page_head(const std::string& title);

}  // namespace distsim::serving
