"""The page's looks: one sheet, light and dark, no remote asset."""

SHEET = """
:root {
  color-scheme: light dark;
  --paper: #fbfaf7; --panel: #ffffff; --ink: #1c2024; --soft: #667079; --rule: #e3e1da;
  --good: #1f7a4d; --bad: #b3261e; --warn: #a96500;
  --pending: #b8c0c8; --processing: #5b8def; --processed: #4fae7b; --compensating: #e0a030;
  --compensated: #9a7bd0; --cancelled: #8d8f94; --error: #d1495b;
  --up: #d5e3dc; --down: #d1495b; --frozen: #62b6d9; --starting: #e6b450; --mark: #c2410c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --panel: #1b1f23; --ink: #e8e6e1; --soft: #97a0a8; --rule: #2c3238;
    --good: #6fce9b; --bad: #ff8a80; --warn: #f0b45a;
    --pending: #4c555e; --processing: #5b8def; --processed: #3f9468; --compensating: #c98d28;
    --compensated: #8b6cc4; --cancelled: #70747a; --error: #cf5566;
    --up: #2b3a33; --down: #cf5566; --frozen: #4a9cc0; --starting: #b98a2f; --mark: #f08a4b;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .3rem; letter-spacing: -.02em; }
h2 { font-size: 1.05rem; margin: 2.2rem 0 .6rem; }
p { margin: .3rem 0; } .soft { color: var(--soft); } code { font-size: .9em; }
.held { color: var(--good); } .broken { color: var(--bad); }
.panel { background: var(--panel); border: 1px solid var(--rule); border-radius: 10px;
  padding: 1rem; overflow-x: auto; }
.panel.wide { padding: .6rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(125px, 1fr)); gap: .7rem;
  margin: 1.4rem 0 0; padding: 0; list-style: none; }
.tiles li { background: var(--panel); border: 1px solid var(--rule); border-radius: 10px;
  padding: .7rem .9rem; }
.tiles b { display: block; font-size: 1.6rem; line-height: 1.2; font-variant-numeric: tabular-nums;
  font-weight: 600; }
.tiles span { color: var(--soft); font-size: .85rem; }
.failings { border-left: 4px solid var(--bad); padding: .2rem 1rem; margin: 1.2rem 0 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--rule);
  vertical-align: top; }
th { font-weight: 600; color: var(--soft); font-size: .82rem; }
td.n, th.n { text-align: right; } tr:last-child td { border-bottom: 0; }
svg { display: block; width: 100%; min-width: 760px; height: auto; }
svg text { fill: var(--ink); font: 11px system-ui, sans-serif; }
svg .soft { fill: var(--soft); } svg .rule { stroke: var(--rule); stroke-width: 1; }
svg .edge { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 3 3; }
svg .mark { fill: var(--mark); } svg .line { fill: none; stroke: var(--processing);
  stroke-width: 1.6; } svg .asked { fill: none; stroke: var(--ink); stroke-width: 1.2;
  stroke-dasharray: 2 3; }
.key { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin: .6rem 0 0; padding: 0;
  list-style: none; color: var(--soft); font-size: .85rem; }
.key i { display: inline-block; width: .8rem; height: .8rem; border-radius: 3px;
  margin-right: .4rem; vertical-align: -1px; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 1rem; }
"""
