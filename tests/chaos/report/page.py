"""The page: the verdict first, then what led to it."""

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from tests.chaos.report import charts, timeline
from tests.chaos.report.charts import STATES, WIDTH, Scale

LANE_STATES = ("up", "starting", "down", "frozen")
CHART_HEIGHT = 90
#: Light and dark, without a remote asset.
SHEET = Path(__file__).with_suffix(".css").read_text()


def render(found: dict[str, Any]) -> str:
    """Return the page as one file that needs no other."""
    title = f"Chaos run {found['title']}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{SHEET}</style></head><body><main>"
        f"{_head(found)}{_tiles(found)}{_wrong(found)}{_bounds(found)}"
        '<h2>What happened when</h2><div class="panel wide">'
        f"{timeline.draw(found)}</div>{_key()}{_resources(found)}{_tables(found)}"
        "</main></body></html>\n"
    )


def _head(found: dict[str, Any]) -> str:
    word, css = ("Everything held", "held") if found["holds"] else ("Not everything held", "broken")
    doors = ", ".join(found["doors"])
    return (
        f'<h1 class="{css}">{word}</h1><p class="soft">{escape(found["title"])} on '
        f"{escape(found['pair'])}, seed {found['seed']}. Orders came in by {escape(doors)}; faults "
        f"struck for {found['faults_ended']:.0f} s.</p>"
    )


def _tiles(found: dict[str, Any]) -> str:
    verdict = found["verdict"]
    healed = found["at_rest"] and found["at_rest"] - found["faults_ended"]
    tiles = [
        (verdict["accepted"], "orders accepted", ""),
        (verdict["lost"], "lost", _colour(verdict["lost"])),
        (verdict["duplicate_effects"], "effects twice", _colour(verdict["duplicate_effects"])),
        (verdict["violations"], "rows break an invariant", _colour(verdict["violations"])),
        (verdict["unexplained"], "sums unexplained", _colour(verdict["unexplained"])),
        (sum(verdict["strikes"].values()), "faults struck", ""),
        (found["repeated_calls"], "calls repeated without effect", ""),
        (f"{healed:.0f} s" if healed is not None else "never", "to rest after the last fault",
         "" if healed is not None else "broken"),
    ]  # fmt: skip
    shown = [
        f'<li><b class="{css}">{figure}</b><span>{says}</span></li>' for figure, says, css in tiles
    ]
    return f'<ul class="tiles">{"".join(shown)}</ul>'


def _wrong(found: dict[str, Any]) -> str:
    verdict = found["verdict"]
    lines = [*verdict["failings"], *(f"Not proven: {gap}" for gap in verdict["gaps"])]
    shown = "".join(f"<p>{escape(line)}</p>" for line in lines)
    return f'<div class="failings">{shown}</div>' if lines else ""


def _bounds(found: dict[str, Any]) -> str:
    if not found["bounds"]:
        return ""
    rows = [
        (
            escape(bound["name"]),
            "–" if bound["measured"] is None else f"{bound['measured']:g} {bound['unit']}",
            f"{'≥' if bound['is_floor'] else '≤'} {bound['limit']:g} {bound['unit']}",
            '<span class="held">held</span>'
            if bound["holds"]
            else '<span class="broken">missed</span>',
        )
        for bound in found["bounds"]
    ]
    table = _table(("Number", "Measured", "Bound", ""), rows)
    return f'<h2>Numbers</h2><div class="panel">{table}</div>'


def _key() -> str:
    names = [*reversed(STATES), *(f"process {state}" for state in LANE_STATES)]
    shown = [
        f'<li><i style="background:var(--{name.rpartition(" ")[2]})"></i>{name}</li>'
        for name in names
    ]
    dotted = "<li>dotted: accepted, as the submitters know</li><li>gap: the database was away</li>"
    return f'<ul class="key">{"".join(shown)}{dotted}</ul>'


def _resources(found: dict[str, Any]) -> str:
    shown = []
    for field, says in (("memory_mb", "Memory of all processes, MB"),
                        ("connections", "Connections to PostgreSQL")):  # fmt: skip
        if not any(sample[field] for sample in found["samples"]):
            continue
        scale = Scale(max(found["seconds"], 1.0))
        drawn = charts.line(found["samples"], field, scale, 8, CHART_HEIGHT)
        size = f"0 0 {WIDTH} {CHART_HEIGHT + 18}"
        shown.append(
            f'<h2>{says}</h2><div class="panel wide"><svg viewBox="{size}" role="img"'
            f' aria-label="{says}">{drawn}</svg></div>'
        )
    return "".join(shown)


def _tables(found: dict[str, Any]) -> str:
    strikes = found["verdict"]["strikes"]
    faults = [(escape(name), escape(says), f"{strikes.get(name, 0)}")
              for name, says in found["faults"].items()]  # fmt: skip
    states = [(escape(state), f"{n}") for state, n in sorted(found["verdict"]["states"].items())]
    events = [(escape(event), f"{n}") for event, n in sorted(found["events"].items())]
    return (
        f'<h2>Faults</h2><div class="panel">{_table(("Fault", "What it does", "Struck"), faults)}'
        '</div><div class="columns"><div><h2>How the orders ended</h2><div class="panel">'
        f"{_table(('State', 'Orders'), states)}</div></div><div><h2>What the journal says</h2>"
        f'<div class="panel">{_table(("Event", "Rows"), events)}</div></div></div>'
    )


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{name}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _colour(count: int) -> str:
    return "broken" if count else "held"
