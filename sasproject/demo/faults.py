"""The faults of the demo's remote services, switched over HTTP."""

from typing import Any

import httpx2

SECONDS = 10

#: Refusals (4xx) strike whole orders, never single calls at random: a service that refuses a call
#: that it has carried out already would be lying, not just failing.
FAULTS: dict[str, dict[str, Any]] = {
    "payment": {
        # Long enough for a kill to interrupt a charge.
        "latency_seconds": 0.1,
        "hang_rate": 0.04,
        "drop_after_effect_rate": 0.06,
        "duplicate_rate": 0.05,
        # Declined cards: a business answer, after which the order is undone.
        "fail_every": 19,
        "error_status": 402,
    },
    "shipping": {"hang_rate": 0.04, "fail_every": 12, "error_status": 422},
    "billing": {
        "latency_seconds": 0.05,
        "error_rate": 0.08,
        "error_status": 500,
        "garbage_rate": 0.04,
    },
    "courier": {"latency_seconds": 0.05, "error_rate": 0.1},
}


class Faults:
    """The fault switches of a run."""

    def __init__(self, sandbox_url: str, seed: int) -> None:
        self._url = sandbox_url
        self._seed = seed
        self.is_payment_down = False

    def switch_on(self) -> None:
        for service in FAULTS:
            self._put(service, self._configured(service))

    def clear(self) -> None:
        """Switch off all faults."""
        for service in FAULTS:
            self._put(service, {})
        self.is_payment_down = False

    def take_payment_down(self) -> None:
        self._put("payment", {**self._configured("payment"), "down": True})
        self.is_payment_down = True

    def bring_payment_up(self) -> None:
        self._put("payment", self._configured("payment"))
        self.is_payment_down = False

    def _configured(self, service: str) -> dict[str, Any]:
        return {**FAULTS[service], "seed": self._seed}

    def _put(self, service: str, faults: dict[str, Any]) -> None:
        switch(self._url, service, faults)


def read(sandbox_url: str, *, seconds: float = SECONDS) -> dict[str, dict[str, Any]]:
    """Return each service's current faults.

    Raises ``httpx2.HTTPError`` if the sandbox does not answer.
    """
    with httpx2.Client(base_url=sandbox_url, timeout=seconds, trust_env=False) as client:
        return {
            service: client.get(f"/{service}/faults").raise_for_status().json()
            for service in FAULTS
        }


def switch(
    sandbox_url: str, service: str, faults: dict[str, Any], *, seconds: float = SECONDS
) -> None:
    """Replace the faults of a service.

    Raises ``httpx2.HTTPError`` if the sandbox does not accept them.
    """
    url = f"{sandbox_url}/{service}/faults"
    with httpx2.Client(timeout=seconds, trust_env=False) as client:
        client.put(url, json=faults).raise_for_status()
