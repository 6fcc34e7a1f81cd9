"""The tutorials, followed to the letter: in an empty folder with a wheel, and in a clone."""

import sys
from pathlib import Path

import pytest

from tests import programs
from tests.pages import checkout
from tests.pages.reader import Page, Reader, blocks_of
from tests.pages.table import ASK_A_PERSON, said

pytestmark = [pytest.mark.slow, pytest.mark.smoke, pytest.mark.volume]
PATH = "docs/tutorial/first-workflow.md"
WORKER = "celery -A acme worker --pidfile worker.pid"
MOST_COMMANDS, MOST_LINES = 8, 40


def build_wheel(origin: Path, folder: Path) -> Path:
    """Build the wheel of what is checked out here."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder)]
    programs.run(*command, str(origin), check=True)
    (made,) = folder.glob("scheduler_agent_supervisor-*.whl")
    return made


def the_worker_is_gone(reader: Reader) -> None:
    process, _ = reader.terminal._lasting.pop(WORKER)
    assert process.wait(10) != 0


def test_every_block_of_the_tutorial_works_as_printed(open_page, origin, tmp_path):
    wheel = build_wheel(origin, tmp_path)
    page = Page(
        PATH,
        replace={
            "python -m venv": f"{sys.executable} -m venv",
            "pip install scheduler-agent-supervisor": f"pip install -q {wheel}",
        },
        after={
            "python manage.py sas process show 1": said("parcel version 1  processed"),
            "python manage.py sas process show 2": said("parcel version 1  processed"),
            "kill -KILL": the_worker_is_gone,
        },
    )
    (tmp_path / "empty").mkdir()

    open_page(page, tmp_path / "empty").follow(blocks_of(checkout.ROOT, page))


def test_a_trip_waits_for_a_person_as_printed(open_page, project):
    open_page(ASK_A_PERSON, project).follow(blocks_of(checkout.ROOT, ASK_A_PERSON))


def test_a_first_process_takes_few_commands_and_few_lines():
    """Up to the submission, with nothing imported from the shop."""
    blocks = blocks_of(checkout.ROOT, Page(PATH))
    typed = [line for block in blocks if block.language == "sh" for line in block.text.splitlines()]
    first = next(number for number, line in enumerate(typed) if "workers.submit" in line)
    files = [block for block in blocks if block.path]
    lines = [
        line
        for block in files
        for line in block.text.splitlines()[1:]
        if line.strip() and not line.startswith(("import ", "from "))
    ]

    assert first + 1 <= MOST_COMMANDS
    assert len(lines) <= MOST_LINES
    assert not any(word in block.text for block in files for word in ("orders", "sasproject"))
