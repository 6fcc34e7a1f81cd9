"""The fenced blocks of a page, and what the page says of those that are not run."""

import re
from dataclasses import dataclass
from pathlib import Path

#: Above a block that cannot be run as printed, with the reason: readers do not see it.
MARKER = re.compile(r"<!-- not run: (?P<reason>\S.*\S) -->")
FENCE = re.compile(r"^\s*```(?P<language>\w*)\s*$")
HEADING = re.compile(r"^## ")
#: The first line of a block that is a file.
FILE = re.compile(r"^(?:#|//|--) (?P<path>[\w./-]+\.\w+)$")

SHELL = ("sh", "console")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block."""

    page: str
    line: int
    #: Counts the headings of the second level above it: a new one is a new terminal.
    section: int
    language: str
    text: str
    #: Why it is not run; empty: it is.
    excuse: str = ""

    @property
    def path(self) -> str:
        """Return the file that a reader makes of it, if it is one."""
        found = FILE.match(self.text.partition("\n")[0])
        return found["path"] if found else ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def of(page: Path, text: str) -> list[Block]:
    """Return the blocks of a page, in order."""
    found: list[Block] = []
    section, excuse, above = 0, "", ""
    begun: tuple[int, str, str] | None = None
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if begun is not None and fence:
            body = "\n".join(lines) + "\n"
            found.append(Block(page.name, begun[0], section, begun[1], body, begun[2]))
            begun, lines = None, []
        elif begun is not None:
            lines.append(line)
        elif fence:
            marked = MARKER.fullmatch(above.strip())
            excuse = marked["reason"] if marked else ""
            begun = (number, fence["language"], excuse)
        elif HEADING.match(line):
            section += 1
        if line.strip():
            above = line
    assert begun is None, f"{page}:{begun[0] if begun else ''} is not closed"
    return found


def commands(text: str) -> list[str]:
    """Split shell text into commands: a command ends where its quotes and continuations do."""
    found: list[str] = []
    pending = ""
    for line in text.splitlines():
        pending = f"{pending}\n{line}" if pending else line
        if not pending.strip() or pending.lstrip().startswith("#"):
            pending = ""
        elif not line.endswith("\\") and _is_closed(pending):
            found.append(pending)
            pending = ""
    assert not pending, f"this command does not end: {pending}"
    return found


def _is_closed(text: str) -> bool:
    quote = ""
    previous = " "
    for char in text:
        if quote:
            quote = "" if char == quote and previous != "\\" else quote
        elif char in "'\"" and previous != "\\":
            quote = char
        elif char == "#" and previous.isspace():
            break
        previous = char
    return not quote
