// Templates: text with ${...} in it, and names with {...} in them, as in configs/models/gpt_h{hidden}_l{layers}.yaml.
//
//   expression := term (("+" | "-") term)*
//   term       := factor (("*" | "/" | "%") factor)*      whole numbers; / rounds down
//   factor     := number | name | "(" expression ")"
//
// ${name} is the text of the value itself; ${expression} is computed in 64 bits; ${repeat(a, n)} is "a, a, ..." with n
// items, for lists.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace distsim {

using TemplateValues = std::map<std::string, std::string, std::less<>>;

/// `text` with every ${...} replaced. Errors (at `where`): a name that `values` lacks, syntax, a value in a calculation
/// that is no whole number, division by zero, a result beyond 64 bits, more than 10,000 repetitions.
Result<std::string> fill_template(std::string_view text, const TemplateValues& values, const std::string& where);

/// The values for which `pattern` ("fc{layers}x{width}") reads as `name` ("fc7x1024"): each placeholder stands for 1 to
/// 12 digits without a leading zero. nullopt where there are none, or where the pattern has no placeholder.
std::optional<TemplateValues> match_template(std::string_view pattern, std::string_view name);

}  // namespace distsim
