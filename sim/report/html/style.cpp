#include "sim/report/html/parts.hpp"

namespace distsim::report::html {

/// Colours are named once for light and once for dark; pictures use them through classes.
std::string_view style() {
  return R"css(
:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--text:#1b2430;--soft:#5d6b7c;--line:#e1e6ec;--track:#edf0f4;
--forward:#2f7fd1;--backward:#1f5796;--optimizer:#16928a;--other:#7fa8d4;--transfer:#e8882d;--waiting:#f6cf9f;--host:#8c62c4;--idle:#cfd6de;--on:#fff}
@media(prefers-color-scheme:dark){:root{--page:#12161c;--card:#1a2029;--text:#e4e9f0;--soft:#95a2b3;--line:#2c3541;--track:#242c37;
--forward:#4a97e6;--backward:#3572b5;--optimizer:#25aaa0;--other:#56799f;--transfer:#f09a45;--waiting:#7a5a36;--host:#a57fdb;--idle:#3c4755;--on:#fff}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums}
main{max-width:1120px;margin:0 auto;padding:32px 24px 48px}
h1{font-size:22px;line-height:1.3;margin:0;font-weight:650;overflow-wrap:anywhere}
h2{font-size:15px;margin:0 0 12px;font-weight:650}
h2 small,p.note{color:var(--soft);font-weight:400;font-size:13px}
p.note{margin:10px 0 0}
header p{margin:2px 0 0;color:var(--soft);overflow-wrap:anywhere}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:18px 20px;margin-top:16px}
.facts{display:grid;grid-template-columns:1.7fr repeat(4,1fr);gap:1px;background:var(--line);border:1px solid var(--line);border-radius:10px;overflow:hidden;margin-top:20px}
.facts div{background:var(--card);padding:14px 18px;min-width:0}
.facts b{display:block;font-size:23px;line-height:1.25;font-weight:650;white-space:nowrap}
.facts div:first-child b{font-size:34px}
.facts span{color:var(--soft);font-size:13px}
@media(max-width:820px){.facts{grid-template-columns:repeat(2,1fr)}.facts div:first-child{grid-column:1/-1}}
.bar{display:flex;height:30px;border-radius:6px;overflow:hidden;background:var(--track)}
.bar i{display:block;height:100%}
.legend{display:flex;flex-wrap:wrap;gap:6px 22px;margin-top:12px;font-size:14px}
.legend span{white-space:nowrap}
.legend em{font-style:normal;color:var(--soft)}
.key{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:7px;vertical-align:-1px}
.forward{background:var(--forward);fill:var(--forward)}.backward{background:var(--backward);fill:var(--backward)}
.optimizer{background:var(--optimizer);fill:var(--optimizer)}.other{background:var(--other);fill:var(--other)}
.transfer{background:var(--transfer);fill:var(--transfer)}.waiting{background:var(--waiting);fill:var(--waiting)}
.host{background:var(--host);fill:var(--host)}.idle{background:var(--idle);fill:var(--idle)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:14px}
th{font-weight:500;color:var(--soft);font-size:13px;border-bottom:1px solid var(--line);white-space:nowrap}
th,td{text-align:right;padding:5px 0 5px 18px}
th:first-child,td:first-child,.l{text-align:left}
td:first-child{overflow-wrap:anywhere}
th:first-child,td:first-child{padding-left:0}
tbody tr+tr td{border-top:1px solid var(--line)}
td.share{width:22%;min-width:110px}
.meter{display:block;height:8px;border-radius:4px;background:var(--track);overflow:hidden}
.meter i{display:block;height:100%;border-radius:4px}
.tag{display:inline-block;padding:0 8px;border-radius:9px;background:var(--track);font-size:12.5px;white-space:nowrap}
.soft{color:var(--soft)}
svg{display:block;width:100%;height:auto}
svg text{fill:var(--soft);font-size:11px}
svg text.rank{fill:var(--text);font-size:12px}
svg text.on{fill:var(--on);font-size:10.5px;pointer-events:none}
svg .lane{fill:var(--track)}
svg .tick{stroke:var(--line);stroke-width:1}
svg rect.edge{stroke:var(--card);stroke-width:.6}
ul{margin:0;padding-left:20px}li{margin:3px 0;overflow-wrap:anywhere}
pre{max-height:420px;overflow:auto;margin:8px 0 0;padding:10px 12px;background:var(--track);border-radius:6px;font-size:12.5px}
details summary{cursor:pointer;color:var(--soft);font-size:13px;margin-top:10px}
footer{color:var(--soft);font-size:12.5px;margin-top:18px}
)css";
}

}  // namespace distsim::report::html
