// Words that nobody can guess.
#pragma once

#include <string>
#include <string_view>

namespace distsim::web {

/// 128 bits from the operating system, as 32 hexadecimal digits.
std::string random_secret();

/// Whether `given` is `secret`, in a time that does not depend on how much of it is right.
bool is_secret(std::string_view secret, std::string_view given);

}  // namespace distsim::web
