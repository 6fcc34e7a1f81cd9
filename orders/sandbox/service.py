"""A simulated service: handles a call from its arrival to its answer."""

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
        self._fault_set = ledger.fault_set(name)
        self._strikes = Strikes(FaultSet.read(self._fault_set))

    def post(self, operation: str, key: str | None, raw: bytes) -> Answer | Silence:
        """Answer a call, or keep silent, according to the current fault set."""
        self._ledger.counts.add(self._name, "calls")
        strikes = self._strikes
        if strikes.faults.down:
            self._strike("down")
            down = refuse(503, "down", f"The {self._name} service is down.")
            return Answer(down.status, down.body, (("Retry-After", "1"),))
        if operation not in self._operations:
            names = ", ".join(self._operations)
            return refuse(404, "unknown_operation", f"The {self._name} service offers {names}.")
        try:
            call = read_call(self._operations[operation], key, raw)
        except BadCall as bad:
            return bad.answer

        switches = strikes.on(call)
        if "latency_seconds" in switches:
            self._strike("latency_seconds")
            time.sleep(strikes.faults.latency_seconds)
        for switch in ("hang_every", "hang_rate"):
            if switch in switches:
                self._strike(switch)
                return Silence.HANG
        for switch, status in (("fail_every", 500), ("error_rate", 503)):
            if switch in switches:
                self._strike(switch)
                message = f"The switch {switch} is on. Nothing was done."
                return refuse(strikes.faults.error_status or status, "fault", message)
        if "duplicate_rate" in switches:
            self._strike("duplicate_rate")
            self._ledger.perform(call)
        result = self._ledger.perform(call)
        return self._spoil(result, switches, strikes.faults) if result.status == 200 else result

    def replace_faults(self, raw: bytes) -> Answer:
        """Replace the fault set; an invalid one changes nothing."""
        try:
            fault_set = read_object(raw)
            faults = FaultSet.read(fault_set)
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
            self._ledger.store_fault_set(self._name, fault_set)
            self._fault_set, self._strikes = fault_set, Strikes(faults)
        return answer(200, **fault_set)

    def faults(self) -> Answer:
        """Show the current fault set as it was submitted."""
        return answer(200, **self._fault_set)

    def ledger(self) -> Answer:
        """Show all effects in order, the number of calls, and how often each switch struck."""
        counts: dict[str, Any] = {
            switch: self._ledger.counts.get(self._name, switch) for switch in SWITCHES
        }
        effects = self._ledger.effects(self._name)
        calls = self._ledger.counts.get(self._name, "calls")
        return answer(200, effects=effects, calls=calls, faults=counts)

    def _spoil(
        self, result: Answer, switches: dict[str, float], faults: FaultSet
    ) -> Answer | Silence:
        if "drop_after_effect_rate" in switches:
            self._strike("drop_after_effect_rate")
            return Silence.DROP
        if "garbage_rate" in switches:
            self._strike("garbage_rate")
            return Answer(200, GARBAGE)
        if "lie_rate" in switches:
            self._strike("lie_rate")
            message = "The switch lie_rate is on. It was done all the same."
            return refuse(faults.lie(switches["lie_rate"]), "fault", message)
        return result

    def _strike(self, switch: str) -> None:
        self._ledger.counts.add(self._name, switch)
