"""What a script's agents raise."""

from typing import Any

from workers.definitions.agent import Call
from workers.exceptions import Permanent, Transient, Unavailable


def refuse(call: Call) -> dict[str, Any]:
    raise Permanent("no", "not like this", no_effect=True)


def fail(call: Call) -> dict[str, Any]:
    raise Transient("busy", "busy")


def be_away(call: Call) -> dict[str, Any]:
    raise Unavailable("http_503", "away", no_effect=True)
