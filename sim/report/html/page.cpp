#include "sim/report/html/page.hpp"

#include "base/text/markup.hpp"
#include "report/assets_text.hpp"
#include "sim/report/text/columns.hpp"

namespace distsim::report {
namespace {

/// Nothing may be loaded or sent, whatever the data say.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'";

/// JSON within an element: no '<' that could end it, and strings that show characters that nobody sees, as a terminal would.
std::string embedded(const std::string& given) {
  const std::string json = with_hidden_shown(given);
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

constexpr std::string_view page_asset(std::string_view name) {
  for (const PageAsset& asset : kPageAssets) {
    if (asset.name == name) return asset.text;
  }
  return "";
}
constexpr std::string_view kScript = page_asset("page.js"), kStyle = page_asset("page.css");
static_assert(!kScript.empty() && !kStyle.empty());

}  // namespace

std::string_view page_script() { return kScript; }
std::string_view page_style() { return kStyle; }

std::string page_html(const Page& page) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"" +
      std::string(kPolicy) + "\">\n<title>" + in_markup(one_line(page.title)) + "</title>\n<style>";
  out.append(kStyle);
  out += "</style></head>\n<body><div id=\"app\"></div>\n<noscript><pre>" + in_markup(page.text) +
         "</pre></noscript>\n<script type=\"application/json\" id=\"page-data\">" + embedded(page.data) +
         "</script>\n<script>";
  return out.append(kScript).append("</script></body></html>\n");
}

}  // namespace distsim::report
