// Foreign text within HTML, SVG and JSON, and characters that nobody sees.
#pragma once

#include <string>
#include <string_view>

namespace distsim {

/// `text` fit for an element or a quoted attribute: & < > " ' become entities, control characters other than tab and
/// line feed become U+FFFD.
std::string in_markup(std::string_view text);

// Characters that nobody sees; some change how the text around them is shown.

/// Whether a character (UTF-8, whole) is a control (below U+0020, U+007F to U+009F), turns the direction of writing (U+061C,
/// U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), ends a line (U+2028, U+2029) or takes no place (U+00AD, U+200B, U+2060 to
/// U+2065, U+FEFF; not the joiners U+200C and U+200D, which shape words and signs).
bool is_hidden(std::string_view character);

/// The text with the bytes of such characters above U+007F as "\xe2\x80\xae"; ASCII is left as it is.
std::string without_hidden(std::string_view text);

/// A JSON text with them as "\u202e", which means the same; controls of ASCII but for line ends and tabs, too.
std::string with_hidden_escaped(std::string json);

/// A JSON text whose strings show them, written as they are or as escapes: what without_hidden() makes of the strings, and of
/// controls of ASCII but for those that have an escape of one letter, as line ends and tabs.
std::string with_hidden_shown(const std::string& json);

}  // namespace distsim
