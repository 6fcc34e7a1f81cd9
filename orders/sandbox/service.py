"""One stand-in service: a call from its arrival to its answer."""

import threading
import time
from typing import Any

from orders.sandbox.answers import Answer, Silence, answer, refuse
from orders.sandbox.calls import BadCall, read_call, read_object
from orders.sandbox.faults import SWITCHES, FaultSet, InvalidFaults
from orders.sandbox.ledger import Ledger
from orders.sandbox.services import SERVICES
from orders.sandbox.strikes import Strikes

GARBAGE = b'{"id": "ch_<html>'


class Service:
    """A service by name, with its operations, its fault set and its part of the ledger."""

    def __init__(self, name: str, ledger: Ledger) -> None:
        self._name = name
        self._operations = SERVICES[name]
        self._ledger = ledger
        self._replacing = threading.Lock()
        self._given = ledger.fault_set(name)
        self._strikes = Strikes(FaultSet.read(self._given))

    def post(self, operation: str, key: str | None, raw: bytes) -> Answer | Silence:
        """Answer a call, or keep silent, as the fault set in force has it."""
        self._ledger.counts.add(self._name, "calls")
        strikes = self._strikes
        if strikes.faults.down:
            self._strike("down")
            down = refuse(503, "down", f"The {self._name} service is down.")
            return Answer(down.status, down.body, (("Retry-After", "1"),))
        if operation not in self._operations:
            known = ", ".join(self._operations)
            return refuse(404, "unknown_operation", f"The {self._name} service offers {known}.")
        try:
            call = read_call(self._operations[operation], key, raw)
        except BadCall as bad:
            return bad.answer

        struck = strikes.on(call)
        if "latency_seconds" in struck:
            self._strike("latency_seconds")
            time.sleep(strikes.faults.latency_seconds)
        for switch in ("hang_every", "hang_rate"):
            if switch in struck:
                self._strike(switch)
                return Silence.HANG
        for switch, status in (("fail_every", 500), ("error_rate", 503)):
            if switch in struck:
                self._strike(switch)
                message = f"The switch {switch} is on. Nothing was done."
                return refuse(strikes.faults.error_status or status, "fault", message)
        if "duplicate_rate" in struck:
            self._strike("duplicate_rate")
            self._ledger.perform(call)
        done = self._ledger.perform(call)
        return self._spoil(done, struck, strikes.faults) if done.status == 200 else done

    def replace_faults(self, raw: bytes) -> Answer:
        """Put another fault set in force; a wrong one changes nothing."""
        try:
            given = read_object(raw)
            faults = FaultSet.read(given)
        except BadCall as bad:
            return bad.answer
        except InvalidFaults as invalid:
            return refuse(
                422,
                "invalid_faults",
                str(invalid),
                field=invalid.field,
                problem=invalid.problem,
                remedy=invalid.remedy,
            )
        with self._replacing:
            self._ledger.store_fault_set(self._name, given)
            self._given, self._strikes = given, Strikes(faults)
        return answer(200, **given)

    def faults(self) -> Answer:
        """Show the fault set in force, as it was sent."""
        return answer(200, **self._given)

    def ledger(self) -> Answer:
        """Show all effects in order, the number of calls, and how often each switch struck."""
        counts: dict[str, Any] = {
            switch: self._ledger.counts.get(self._name, switch) for switch in SWITCHES
        }
        effects = self._ledger.effects(self._name)
        calls = self._ledger.counts.get(self._name, "calls")
        return answer(200, effects=effects, calls=calls, faults=counts)

    def _spoil(self, done: Answer, struck: dict[str, float], faults: FaultSet) -> Answer | Silence:
        if "drop_after_effect_rate" in struck:
            self._strike("drop_after_effect_rate")
            return Silence.DROP
        if "garbage_rate" in struck:
            self._strike("garbage_rate")
            return Answer(200, GARBAGE)
        if "lie_rate" in struck:
            self._strike("lie_rate")
            message = "The switch lie_rate is on. It was done all the same."
            return refuse(faults.lie(struck["lie_rate"]), "fault", message)
        return done

    def _strike(self, switch: str) -> None:
        self._ledger.counts.add(self._name, switch)
