"""The page's looks, in light and in dark."""

STYLE = """
:root { color-scheme: light dark; --ink: #1b2430; --paper: #ffffff; --faint: #5b6776;
  --line: #d5dbe2; --ours: #0b6e4f; --peer: #8a97a8; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf1; --paper: #12171d;
  --faint: #9aa7b5; --line: #303a45; --ours: #4cc38a; --peer: #7c8a9a; --bad: #ff8a80; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0; }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
td { font-variant-numeric: tabular-nums; }
.note { color: var(--faint); }
.met, .stretch { color: var(--ours); font-weight: 600; }
.missed { color: var(--bad); font-weight: 600; }
.wide { overflow-x: auto; }
svg { width: 100%; height: auto; font: 14px system-ui, sans-serif; }
svg .name { text-anchor: end; fill: var(--ink); }
svg .figure { fill: var(--ink); }
svg .ours { fill: var(--ours); }
svg .peer { fill: var(--peer); }
"""
