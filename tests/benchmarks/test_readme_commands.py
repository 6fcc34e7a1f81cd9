"""What is measured is what README tells people to run."""

from benchmarks.ours import running
from benchmarks.processes import ROOT


def test_the_workers_are_started_by_readmes_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    production = readme[readme.index("## In production") : readme.index("## Your own workflow")]
    start = "celery -A sasproject worker"
    commands = [line for line in production.splitlines() if line.startswith(start)]

    assert commands == [
        f"{start} {options}".strip() for options in (running.SCHEDULER, running.AGENTS)
    ]
