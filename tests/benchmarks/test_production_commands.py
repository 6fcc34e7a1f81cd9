"""What is measured is what *Run it in production* tells people to run."""

from benchmarks.ours import running
from benchmarks.processes import ROOT


def test_the_workers_are_started_by_the_commands_of_the_page():
    page = (ROOT / "docs/how-to/run-in-production.md").read_text(encoding="utf-8")
    processes = page[page.index("## 4. Processes") : page.index("### The web and its proxy")]
    start = "celery -A sasproject worker"
    commands = [line for line in processes.splitlines() if line.startswith(start)]

    assert commands == [
        f"{start} {options}".strip() for options in (running.SCHEDULER, running.AGENTS)
    ]
