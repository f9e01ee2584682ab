// Escapes untrusted text for HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace distsim {

/// `text` fit for an element or a quoted attribute: & < > " ' become entities. Control characters stay: see
/// base/text/printable.hpp.
std::string in_markup(std::string_view text);

}  // namespace distsim
