"""Somebody who follows a page to the letter: every block, in order, in a folder of its own."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.pages import blocks
from tests.pages.blocks import Block
from tests.pages.terminal import Terminal, lasts


@dataclass(frozen=True, slots=True)
class Page:
    """What must be known of a page beyond its text: kept small, and in one place."""

    path: str
    #: Blocks with a marker: so many, and no more.
    not_run: int = 0
    #: What stands for something else, such as a host -> what it is here.
    replace: Mapping[str, str] = field(default_factory=dict)
    #: Beginning of a command or snippet -> what a reader does before it, in the browser or head.
    before: Mapping[str, Callable[["Reader"], None]] = field(default_factory=dict)
    after: Mapping[str, Callable[["Reader"], None]] = field(default_factory=dict)
    #: Language of blocks, with a colon and their beginning where only some of that language are
    #: meant -> the test that runs them more closely than we do.
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    #: Whether a new section is a new terminal, without the variables of the one before.
    is_in_sections: bool = False
    #: Whether its database and broker are PostgreSQL and RabbitMQ.
    is_on_servers: bool = False

    def is_run_here(self, block: Block) -> bool:
        return not block.excuse and not self.is_run_elsewhere(block)

    def is_run_elsewhere(self, block: Block) -> bool:
        kinds = (key.partition(":")[::2] for key in self.elsewhere)
        return any(
            block.language == language and block.text.startswith(beginning.strip())
            for language, beginning in kinds
        )


class Reader:
    """Follows one page."""

    def __init__(self, page: Page, terminal: Terminal, here: Mapping[str, str]) -> None:
        self.page = page
        self.terminal = terminal
        #: What is printed -> what it is here; grows on the way, by a number that was printed.
        self.replace = {**here, **page.replace}
        #: What the last command or snippet has said.
        self.said = ""
        self._began = time.monotonic()
        self._console: subprocess.Popen[str] | None = None

    def follow(self, found: list[Block]) -> None:
        section = 0
        for block in found:
            if not self.page.is_run_here(block):
                continue
            if self.page.is_in_sections and block.section != section:
                section = block.section
                self._close_console()
                self.terminal.reset()
            self._do(block)
        self.close()

    def close(self) -> None:
        self._close_console()
        self.terminal.close()

    def python(self, source: str, name: str = "test") -> str:
        """Run a snippet in the console of the page's project; return what it printed."""
        if self._console is None:
            self._console = subprocess.Popen(
                [sys.executable, "-m", "tests.pages.console"],
                cwd=self.terminal.folder,
                env={
                    **self.terminal.environment(),
                    "DJANGO_SETTINGS_MODULE": "sasproject.settings",
                },
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._console.stdin is not None
        assert self._console.stdout is not None
        self._console.stdin.write(json.dumps({"source": source, "name": name}) + "\n")
        self._console.stdin.flush()
        line = self._console.stdout.readline()
        assert line, f"{name}: the console has ended"
        answer = json.loads(line)
        assert not answer["trouble"], f"{name}\n{answer['said']}{answer['trouble']}"
        return str(answer["said"])

    def _do(self, block: Block) -> None:
        try:
            if block.path:
                self._hooks(self.page.before, block.text)
                self._write(block)
            elif block.language in blocks.SHELL:
                self._type(block)
            elif block.language == "python":
                self._hooks(self.page.before, block.text)
                self.said = self.python(self._real(block.text), str(block))
                self._hooks(self.page.after, block.text)
            elif block.language == "json":
                json.loads(block.text)
            else:
                raise AssertionError(
                    f"nobody knows how to run {block.language or 'a block without a language'}: "
                    "name its language, or say above it <!-- not run: why -->"
                )
        except AssertionError as error:
            raise AssertionError(f"{block}: {error}") from error

    def _write(self, block: Block) -> None:
        """Make the file, or append to it where it is."""
        file = self.terminal.folder / block.path
        file.parent.mkdir(parents=True, exist_ok=True)
        before = file.read_text() if file.exists() else ""
        file.write_text(f"{before}{self._real(block.text)}")
        if file.suffix == ".py":
            compile(file.read_text(), block.path, "exec")
        self._close_console()

    def _type(self, block: Block) -> None:
        text = block.text
        if block.language == "console":
            # What is typed has a prompt; the rest is what is answered.
            text = "\n".join(re.findall(r"^\$ (.*)$", text, re.MULTILINE))
        for command in blocks.commands(text):
            print(f"{time.monotonic() - self._began:6.1f} s  $ {command}")
            self._hooks(self.page.before, command)
            real = self._real(command)
            if lasts(real):
                port = re.search(r"(?:--port |--bind \S+:|runserver )(\d+)", real)
                self.terminal.start(real, int(port[1]) if port else None)
            else:
                self.said = self.terminal.run(real)
            self._hooks(self.page.after, command)

    def _hooks(self, hooks: Mapping[str, Callable[["Reader"], None]], text: str) -> None:
        for beginning, act in hooks.items():
            if text.startswith(beginning):
                act(self)

    def _real(self, text: str) -> str:
        for printed, real in self.replace.items():
            text = text.replace(printed, real)
        return text

    def _close_console(self) -> None:
        if self._console is not None:
            assert self._console.stdin is not None
            self._console.stdin.close()
            self._console.wait(30)
            self._console = None


def blocks_of(root: Path, page: Page) -> list[Block]:
    path = root / page.path
    return blocks.of(path, path.read_text(encoding="utf-8"))
