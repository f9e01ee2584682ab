// Escapes untrusted text for HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace distsim {

/// `text` fit for an element or a quoted attribute: & < > " ' become entities, control characters other than tab and
/// line feed become U+FFFD.
std::string in_markup(std::string_view text);

}  // namespace distsim
