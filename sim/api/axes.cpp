#include "sim/api/axes.hpp"

#include <algorithm>

#include "base/text/printable.hpp"
#include "sim/config/flag_sets.hpp"

namespace distsim::api {
namespace {

Result<void> check_key(const Axis& axis, const std::string& flag) {
  if (!axis.key.empty() && axis.key.find('=') == std::string::npos) return {};
  return Error{"found the key " + in_quotes(axis.key) + ", expected one such as cluster.nodes", flag, ""};
}

Result<study::SweepAxis> study_axis(const Axis& axis, const std::string& flag, std::size_t most) {
  TRY(check_key(axis, flag));
  study::SweepAxis out{axis.key, {}};
  for (const std::string& value : axis.values) {
    TRY_ASSIGN(study::SweepAxis one, study::parse_axis(axis.key + "=" + value, flag, most - out.values.size()));
    out.values.insert(out.values.end(), one.values.begin(), one.values.end());
  }
  if (out.values.empty())
    return Error{"found no values of " + in_quotes(axis.key) + ", expected at least one", flag, ""};
  TRY(study::check_repeats(out, flag));
  return out;
}

}  // namespace

Result<std::vector<study::SweepAxis>> study_axes(const std::vector<Axis>& axes, const std::string& flag,
                                                 const std::vector<std::string>& sets, std::size_t most) {
  std::vector<study::SweepAxis> out;
  for (const Axis& axis : axes) {
    TRY_ASSIGN(study::SweepAxis parsed, study_axis(axis, flag, most));
    if (config::any_gives(sets, parsed.key))
      return Error{flag + " " + printable(parsed.key, 80) + ": found a key that " +
                       (flag.starts_with("--") ? "--set" : "set") + " holds, expected one of the two",
                   "", ""};
    out.push_back(std::move(parsed));
  }
  if (const std::string twice = study::key_given_twice(out); !twice.empty())
    return Error{flag + " " + printable(twice, 80) + ": found twice, expected one list of values", "", ""};
  return out;
}

Result<std::vector<double>> counts_of(const std::vector<Axis>& axes, const std::string& flag) {
  std::vector<double> out;
  for (const Axis& axis : axes) {
    TRY(check_key(axis, flag));
    double& count = out.emplace_back(0);
    for (const std::string& value : axis.values) {
      TRY_ASSIGN(const double more, study::count_values(axis.key + "=" + value, flag));
      count += more;
    }
  }
  return out;
}

}  // namespace distsim::api
