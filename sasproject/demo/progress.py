"""The demo without a board: one plain line per second."""

import time
from collections.abc import Mapping

from sasproject.demo.figures import NOTED, Figures
from sasproject.demo.voice import Voice
from workers.management.wording import counted

INTERVAL_SECONDS = 1.0


def line(figures: Figures, seconds: float) -> str:
    """Return the figures as one line."""
    parts = [
        f"{figures.placed} placed",
        f"{figures.of('processed')} processed",
        f"{figures.open} open",
        *([f"{figures.failing} of them trying again"] if figures.failing else []),
        f"{figures.recovered} recovered",
        *(f"{figures.of(state)} {state}" for state in NOTED if figures.of(state)),
        counted(figures.kills, "kill"),
        f"{figures.lost} lost",
    ]
    return f"{seconds:3.0f} s: {', '.join(parts)}"


class Progress:
    """Prints the figures, at most once a second."""

    def __init__(self, voice: Voice, began: float) -> None:
        self._voice = voice
        self._began = began
        self._due = 0.0

    def begin(self, addresses: Mapping[str, str]) -> None:
        """Print the addresses of the demo."""
        for label, url in addresses.items():
            self._voice.tell(f"{label}: {url}")

    def is_due(self) -> bool:
        return time.monotonic() >= self._due

    def show(self, figures: Figures) -> None:
        now = time.monotonic()
        self._due = now + INTERVAL_SECONDS
        self._voice.tell(line(figures, now - self._began))
