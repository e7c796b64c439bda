"""The look of the report, on a screen and on paper."""

STYLE = """
:root { --ink: #24292f; --soft: #57606a; --line: #d0d7de; --back: #ffffff; --strong: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8eb; --soft: #a9b1ba; --line: #3d444d; --back: #14171a; --strong: #56b4e9; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 54rem; background: var(--back); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 1rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; padding-bottom: .25rem; border-bottom: 1px solid var(--line); }
p, li { max-width: 46rem; }
.promise { font-size: 1.25rem; line-height: 1.45; border-left: 4px solid var(--strong); padding: .2rem 0 .2rem 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.2rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: .6rem 0 1rem; font-size: .92rem; }
th, td { padding: .28rem .7rem; border-bottom: 1px solid var(--line); text-align: left; font-weight: normal; }
thead th { color: var(--soft); } td.n { text-align: right; font-variant-numeric: tabular-nums; }
td.never { color: var(--soft); }
th[scope="row"] { min-width: 5.5rem; max-width: 20rem; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table.heat th, table.heat td { border: 1px solid var(--line); }
table.small { font-size: .72rem; } table.small th, table.small td { padding: .12rem .3rem; }
table.small thead th { writing-mode: vertical-rl; max-height: 20rem; }
svg.bar { width: 14rem; height: .8rem; vertical-align: middle; }
svg.bar .line { fill: var(--line); } svg.bar .range { fill: var(--strong); opacity: .55; }
svg.bar .mark { fill: var(--ink); }
pre { background: color-mix(in srgb, var(--ink) 7%, transparent); padding: .8rem 1rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
li { margin-bottom: .5rem; }
@media (max-width: 34rem), print {
  table.heat thead th + th { writing-mode: vertical-rl; max-height: 12rem; }
}
@media (max-width: 34rem) {
  body { padding: 1rem .9rem 3rem; } h1 { font-size: 1.5rem; } ul { padding-left: 1.2rem; }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; }
  table { font-size: .82rem; } th, td { padding: .28rem .3rem; } svg.bar { width: 4rem; }
}
@media print {
  :root { --ink: #000; --soft: #444; --line: #bbb; --back: #fff; --strong: #0072b2; }
  body { font-size: 10.5pt; padding: 0; max-width: none; }
  section, table, pre { break-inside: avoid; } h2 { break-after: avoid; }
  /* Paper cannot be unfolded. */
  details::details-content { content-visibility: visible; block-size: auto; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
@page { margin: 18mm; }
"""
