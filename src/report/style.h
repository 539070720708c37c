// The style sheet of the HTML report.
#pragma once

#include <string_view>

namespace hc::report {

inline constexpr std::string_view kStyle = R"(
:root{--ink:#1c2430;--soft:#5b6675;--line:#e3e7ed;--page:#f5f6f8;--card:#fff;--blue:#2458d3;--pale:#a9c1f5;
--green:#14804a;--red:#c0312b;--amber:#a8650c}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif}
main{max-width:1360px;margin:0 auto;padding:28px 20px 60px}
header{background:var(--card);border:1px solid var(--line);border-left:6px solid var(--amber);border-radius:10px;
padding:20px 26px}
header.pass{border-left-color:var(--green)}header.fail{border-left-color:var(--red)}
header h1{margin:2px 0 4px;font-size:28px;line-height:1.2}header p{margin:0;color:var(--soft)}
.state{font-weight:700;letter-spacing:.04em;color:var(--amber)}
.pass .state{color:var(--green)}.fail .state{color:var(--red)}
.interim{background:#fdf0d8;color:#7a4a06;border-radius:4px;padding:2px 8px}
blockquote{margin:12px 0 0;padding:8px 14px;border-left:3px solid var(--line);color:var(--soft)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:12px;margin:16px 0;background:none;
border:0;padding:0}
.tile{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px}
.label{font-size:13px;color:var(--soft)}
.number{font-size:26px;font-weight:650;line-height:1.3;font-variant-numeric:tabular-nums}
.note{font-size:12px;color:var(--soft)}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:18px 22px;margin:16px 0}
section h2{margin:0 0 8px;font-size:19px}.lead{margin:0 0 12px;color:var(--soft);max-width:80ch}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13.5px}
caption{text-align:left;color:var(--soft);font-size:12.5px;padding:0 0 8px}
th{text-align:left;font-weight:600;color:var(--soft);border-bottom:2px solid var(--line);padding:6px 8px;
vertical-align:bottom}
th.num{text-align:right}
th small{font-weight:400;white-space:nowrap}
td{border-bottom:1px solid var(--line);padding:7px 8px;vertical-align:top}
td.num{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}td.strong{font-weight:650}
tfoot td{border-bottom:0;border-top:2px solid var(--line);font-weight:600}
.sub{font-size:12px;color:var(--soft);max-width:34ch;overflow-wrap:anywhere}
.file,code{font:12px/1.4 ui-monospace,"SF Mono",Menlo,"Liberation Mono",monospace;overflow-wrap:anywhere;
color:#3c4757}
.file{min-width:230px}
.badge{display:inline-block;border-radius:999px;padding:1px 10px;font-size:12px;font-weight:700;background:#fdf0d8;
color:#7a4a06}
.badge.pass{background:#dcf3e6;color:#0d5c34}.badge.fail{background:#fbe1df;color:#8f211c}
.chip{display:inline-block;border:1px solid var(--line);border-radius:4px;padding:0 6px;margin:0 4px 2px 0;
font-size:12px;white-space:nowrap}
.chip.ok{background:#e8f0fe;border-color:#c8d9fb}
pre{margin:0;padding:14px 16px;background:#f7f8fa;border:1px solid var(--line);border-radius:8px;overflow-x:auto;
font:12.5px/1.55 ui-monospace,"SF Mono",Menlo,"Liberation Mono",monospace}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(480px,1fr));gap:24px}
.multiples{display:grid;grid-template-columns:repeat(auto-fill,minmax(300px,1fr));gap:16px;margin-bottom:16px}
figure{margin:0}figcaption{font-size:13px;color:var(--soft);margin-bottom:6px}figcaption b{color:var(--ink)}
svg{display:block;width:100%;height:auto}
.legend{display:flex;flex-wrap:wrap;gap:4px 14px;margin-top:4px}
.legend span{display:inline-flex;align-items:center;gap:5px}
.legend i{width:12px;height:12px;border-radius:3px;display:inline-block}
.legend i.before{background:var(--pale)}.legend i.after{background:var(--blue)}.legend i.base0{background:#8a95a5}
.legend i.base1{background:#c28d3a}.legend i.base2{background:#6f9a8d}.legend i.base3{background:#a583b0}
.legend i.ceiling{width:3px;background:#1c2430;border-radius:0}
svg text{font:11.5px system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif;fill:var(--ink)}
svg .tick{fill:var(--soft);font-size:11px}svg .end{text-anchor:end}svg .mid{text-anchor:middle}
svg .name{font-weight:600}
svg .value{font-size:11px;fill:#3c4757}
.grid{stroke:var(--line);stroke-width:1}
.bar.before{fill:var(--pale)}.bar.after{fill:var(--blue)}.bar.base0{fill:#8a95a5}.bar.base1{fill:#c28d3a}
.bar.base2{fill:#6f9a8d}.bar.base3{fill:#a583b0}
.ceiling{stroke:#1c2430;stroke-width:2}
.behind{fill:#fbe9e7}.parity{stroke:#1c2430;stroke-width:1.2}
.limit{stroke:var(--red);stroke-width:1;stroke-dasharray:3 3}
.whisker{stroke-width:2.4;stroke-linecap:round;stroke:var(--amber)}.whisker.pass{stroke:var(--green)}
.whisker.fail{stroke:var(--red)}
.dot{fill:var(--amber)}.dot.pass{fill:var(--green)}.dot.fail{fill:var(--red)}
.best{fill:none;stroke:var(--blue);stroke-width:2}.tried{fill:#8fb0f0}.fell{stroke:#d7867f;stroke-width:1}
.reference{stroke:#5b6675;stroke-width:1.2;stroke-dasharray:5 4}
.risks{margin:0;padding-left:20px}.empty{color:var(--soft)}
footer{color:var(--soft);font-size:13px;margin-top:20px}
@media print{body{background:#fff}section,.tile,header{break-inside:avoid}}
)";

}  // namespace hc::report
