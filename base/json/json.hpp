// nlohmann::json, with its assertions for where memory is short: a value whose object or array could not be made has a
// destructor that asserts. It is <nlohmann/json.hpp> for every file of the project, since all must see the same library.
#pragma once

#include "base/check.hpp"

#define JSON_ASSERT(condition) ((condition) ? void() : ::distsim::json_is_broken())

#include <nlohmann/json.hpp>
