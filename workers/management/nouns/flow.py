"""Show and set what agents may have in flight; hold and lift."""

import argparse
import json
from collections import Counter
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from django.core.management.base import CommandError
from django.db.models import Count

from workers.client import operations
from workers.definitions import registry
from workers.exceptions import StateError
from workers.management.terminal import TerminalCommand, actor
from workers.management.wording import one_line
from workers.models import Flow, Hold, LimitedKey, LiveStep
from workers.rules.masks import UNKNOWN
from workers.runtime import timestamps
from workers.states import StepState
from workers.store.db import dialect
from workers.store.flow import holds, key_settings, last_answers

#: How many keys with limits of their own are listed.
MOST_KEYS = 1_000
#: What a key gets back: its limit in the code.
AS_CODE = "code"


class Command(TerminalCommand):
    help = (
        "Shows the window, rate and breaker of every agent and what is held; sets them; holds "
        "everything, an agent or a step name, and lifts it again."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        show = actions.add_parser("show", help="every agent, and what is held")
        show.add_argument("--json", dest="as_json", action="store_true")
        setting = actions.add_parser("set", help="limits or breaker of an agent")
        setting.add_argument("agent")
        setting.add_argument(
            "--key", help="of this value of the attribute by which it limits alone"
        )
        setting.add_argument("--window", help="claims in flight at most; of a key also: code")
        setting.add_argument("--rate", help="claims a second at most, or none; of a key: or code")
        setting.add_argument("--deferred", help="answers outstanding at most, or none")
        setting.add_argument("--breaker", choices=["open", "closed", "auto"])
        setting.add_argument("--reason", default="", help="kept in the journal")
        for name, text in (("hold", "claim nothing more of it"), ("lift", "end a hold")):
            holding = actions.add_parser(name, help=text)
            holding.add_argument("kind", choices=holds.KINDS)
            holding.add_argument("name", nargs="?", default="", help="of the agent or step")
            holding.add_argument("--reason", default="", help="kept in the journal")

    def handle(self, *, action: str, **options: Any) -> None:
        if action == "show":
            self._show(as_json=options["as_json"])
            return
        reason = options["reason"].strip()
        if not reason:
            raise CommandError("Say why, with --reason: it is kept in the journal.")
        try:
            self._act(action, reason, options)
        except StateError as refusal:
            raise CommandError(str(refusal)) from None

    def _act(self, action: str, reason: str, options: dict[str, Any]) -> None:
        if action == "set":
            agent, key = options["agent"], options["key"]
            if key is None:
                changes = _changes(options)
                changed = operations.set_flow(agent, changes, actor=actor(), reason=reason)
            else:
                changes = _changes_of_key(options)
                changed = operations.set_key(agent, key, changes, actor=actor(), reason=reason)
            for name, (before, after) in changed.items():
                self.stdout.write(f"{agent} {name}: {before} -> {after}")
            if not changed:
                self.stdout.write(f"{agent} is as you want it.")
            return
        if action == "hold" and options["kind"] == "step":
            _refuse_unknown_step(options["name"])
        verb = operations.hold if action == "hold" else operations.lift
        verb(options["kind"], options["name"], actor=actor(), reason=reason)
        target = f"{options['kind']} {options['name']}".strip()
        self.stdout.write(f"{target} is {'held' if action == 'hold' else 'lifted'}.")

    def _show(self, *, as_json: bool) -> None:
        counts = _counts_by_agent()
        agents: list[dict[str, Any]] = [
            {**row, "waiting": counts[row["agent"], StepState.PENDING]}
            for row in Flow.objects.order_by("agent").values()
        ]
        active = list(Hold.objects.filter(ended_at=None).values())
        for hold in active:
            hold["reason"] = UNKNOWN.text(hold["reason"])
        keys = [
            {"agent": row.agent, "key": key_settings.shown(row), "window": row.window,
             "rate_per_second": row.rate_per_second}
            for row in LimitedKey.objects.exclude(window=None, rate_per_second=None)
            .order_by("agent", "key")[:MOST_KEYS]
        ]  # fmt: skip
        if as_json:
            facts = {"agents": agents, "held": active, "keys": keys}
            self.stdout.write(json.dumps(facts, default=str, ensure_ascii=False))
            return
        now = dialect.read_clock()
        probes = {
            row["agent"]: probe
            for row in agents
            if (probe := _next_probe(row, counts[row["agent"], StepState.PROCESSING], now))
        }
        answers = last_answers.of(list(probes))
        for row in agents:
            rate = f"{row['rate_per_second']:g}/s" if row["rate_per_second"] else "no rate"
            state = row["forced"] or ("open" if row["open_until"] else "closed")
            by_force = " by force" if row["forced"] else ""
            deferred = f"  deferred {row['deferred_window']}" if row["deferred_window"] else ""
            self.stdout.write(
                f"{row['agent']:<28}window {row['window']:<7}{rate:<12}breaker {state}{by_force}"
                f"{deferred}"
            )
            if row["agent"] in probes:
                self.stdout.write(f"  {_open_breaker(row, probes[row['agent']])}")
                if answer := answers.get(row["agent"]):
                    self.stdout.write(f"  last answer: {one_line(answer)}")
        for row in keys:
            limits = [
                f"{name} {row[name]:g}" for name in key_settings.LIMITS if row[name] is not None
            ]
            self.stdout.write(f"{row['agent']}, key {row['key']}: {', '.join(limits)}")
        for hold in active:
            target = f"{hold['kind']} {hold['name']}".strip()
            self.stdout.write(f"Held: {target}, by {hold['began_by']}: {hold['reason']}")


def _open_breaker(row: dict[str, Any], probe: str) -> str:
    """Return since when a breaker is open, what comes next, and how many steps wait for it."""
    since = f"not reached since {timestamps.full(row['opened_at'])}; " if row["opened_at"] else ""
    return f"{since}{probe}; steps waiting: {row['waiting']}"


def _next_probe(row: dict[str, Any], in_flight: int, now: datetime) -> str:
    """Return when an open breaker lets a call through next; empty: it is closed."""
    if row["forced"] == "open":
        return "nothing happens until an operator releases the breaker"
    if row["forced"] == "closed" or row["open_until"] is None:
        return ""
    if row["open_until"] > now:
        return f"probe in {round((row['open_until'] - now).total_seconds())} s"
    return "a probe is under way" if in_flight else "next probe: now"


def _counts_by_agent() -> Counter[tuple[str, str]]:
    """Return by agent and state how many steps may be claimed, or will be, and are called."""
    steps = LiveStep.objects.filter(is_deferred=False).order_by()
    counts = steps.values_list("agent", "state").annotate(n=Count("pk"))
    return Counter({(agent, state): n for agent, state, n in counts})


def _refuse_unknown_step(name: str) -> None:
    names = registry.step_names()
    if name and name not in names:
        matches = get_close_matches(name, names, n=1)
        hint = f" Did you mean {matches[0]}?" if matches else ""
        raise CommandError(f"No workflow has a step {name!r}.{hint}")


def _changes(options: dict[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if options["window"] is not None:
        changes["window"] = _whole("--window", options["window"])
    if options["rate"] is not None:
        changes["rate_per_second"] = _rate(options["rate"])
    if options["deferred"] is not None:
        changes["deferred_window"] = _deferred_window(options["deferred"])
    if options["breaker"] is not None:
        changes["forced"] = None if options["breaker"] == "auto" else options["breaker"]
    if not changes:
        raise CommandError("Say what to set: --window, --rate, --deferred or --breaker.")
    return changes


def _changes_of_key(options: dict[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if (window := options["window"]) is not None:
        changes["window"] = None if window == AS_CODE else _whole("--window", window)
    if (rate := options["rate"]) is not None:
        changes["rate_per_second"] = None if rate == AS_CODE else _rate(rate)
    if not changes or options["deferred"] is not None or options["breaker"] is not None:
        raise CommandError("Say what to set of a key: --window or --rate, or both.")
    return changes


def _whole(option: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise CommandError(f"{option} is {text!r}. Give a whole number.") from None


def _rate(text: str) -> float | None:
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise CommandError(f"--rate is {text!r}. Give a number, or none.") from None


def _deferred_window(text: str) -> int | None:
    return None if text == "none" else _whole("--deferred", text)
