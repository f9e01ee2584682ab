// Pages of their own: the components of distsim serve (web/src/app) over embedded data, in one file that loads nothing.
#pragma once

#include <string>
#include <string_view>

namespace distsim::report {

struct Page {
  std::string title;
  std::string data;  ///< a JSON object; its `kind` says which components show it (web/src/app/page.tsx)
  std::string text;  ///< for readers without scripts, as it is printed
};

/// Text from outside is escaped: in the title and the text as markup, in the data as JSON that cannot end its element.
std::string page_html(const Page& page);

/// What all pages share.
std::string_view page_script();
std::string_view page_style();

}  // namespace distsim::report
