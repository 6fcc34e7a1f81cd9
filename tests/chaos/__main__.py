"""`python -m tests.chaos`: a run or a scenario, its report, its exit code."""

import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

from tests.chaos import report
from tests.chaos.faults import CATALOGUE
from tests.chaos.instances.server import DidNotStart, NotHere
from tests.chaos.options import Options, parse
from tests.chaos.progress import Progress
from tests.chaos.scenarios import SCENARIOS
from tests.chaos.scenarios.bound import Bound
from tests.chaos.stage import Stage
from tests.chaos.system import NotUp

#: What was asked for cannot be had on this machine.
NOT_HERE = 3


def main(words: list[str]) -> int:
    options = parse(words, {name: one.says for name, one in SCENARIOS.items()})
    _on_signals()
    progress = Progress()
    folder = Path(tempfile.mkdtemp(prefix="sas-chaos-"))
    # An unprivileged server must get to its own part of it.
    folder.chmod(0o711)
    stage = Stage(options, folder, progress)
    try:
        bounds = _play(stage, options)
    except (NotHere, NotUp, DidNotStart) as error:
        progress.say(f"cannot run: {error}")
        is_missing = isinstance(error, NotHere) and os.environ.get("CI") != "true"
        return NOT_HERE if is_missing else 1
    finally:
        if options.keep:
            progress.say(f"everything is kept in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return _conclude(stage, bounds, progress)


def _play(stage: Stage, options: Options) -> list[Bound]:
    if options.scenario is None:
        stage.run("run", stage.usual())
        return []
    scenario = SCENARIOS[options.scenario]
    if scenario.needs and not set(scenario.needs) & set(options.pair.split("+")):
        raise NotHere(
            f"{scenario.name} needs {' or '.join(scenario.needs)}; choose another pair with --on"
        )
    return scenario.play(stage)


def _conclude(stage: Stage, bounds: list[Bound], progress: Progress) -> int:
    """Say what came of it, write the report, and return the exit code."""
    options = stage.options
    failings, gaps = _wrong(stage, bounds)
    for bound in bounds:
        progress.say(str(bound))
    for line in [*failings, *(f"not proven: {gap}" for gap in gaps)]:
        progress.say(f"BROKEN: {line}")
    if options.report is not None:
        for title, outcome in stage.outcomes:
            is_last = outcome is stage.outcomes[-1][1]
            target = options.report if is_last else options.report / title
            report.write(target, options.scenario or title, outcome, bounds if is_last else [],
                         failings if is_last else outcome.verdict.failings)  # fmt: skip
        progress.say(f"report: {options.report / 'report.html'}")
    print(json.dumps(_summary(stage, bounds, failings, gaps)), flush=True)
    return 1 if failings or gaps else 0


def _wrong(stage: Stage, bounds: list[Bound]) -> tuple[list[str], list[str]]:
    failings, gaps = [], []
    for title, outcome in stage.outcomes:
        failings += [f"{title}: {failing}" for failing in outcome.verdict.failings]
        gaps += [f"{title}: {gap}" for gap in outcome.verdict.gaps]
    failings += [str(bound) for bound in bounds if not bound.holds]
    # What was asked for by name must strike; of all there are, some may be left out.
    is_named = stage.options.is_chosen and stage.options.faults != tuple(CATALOGUE)
    if is_named or os.environ.get("CI") == "true":
        gaps += stage.left_out
    return failings, gaps


def _summary(
    stage: Stage, bounds: list[Bound], failings: list[str], gaps: list[str]
) -> dict[str, Any]:
    options = stage.options
    told: dict[str, Any] = {}
    if stage.outcomes:
        _, outcome = stage.outcomes[-1]
        told = {
            **outcome.verdict.as_json(),
            "faults_ended": round(outcome.faults_ended, 1),
            "at_rest": outcome.at_rest and round(outcome.at_rest, 1),
            "repeated_calls": outcome.repeated_calls,
            "events": outcome.events,
        }
    return {
        **told,
        "holds": not failings and not gaps,
        "scenario": options.scenario,
        "seed": options.seed,
        "pair": options.pair,
        "bounds": [str(bound) for bound in bounds],
        "failings": failings,
        "gaps": gaps,
        "left_out": stage.left_out,
    }


def _on_signals() -> None:
    """Let SIGTERM end it as Ctrl-C does: with everything ended that it started."""

    def end(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGHUP, end)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("ended before its verdict")
