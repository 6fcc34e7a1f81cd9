"""A number that a scenario must hold."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """What was measured, beside what it may be: at most ``limit``, or at least."""

    name: str
    measured: float | None
    limit: float
    unit: str = ""
    is_floor: bool = False

    @property
    def holds(self) -> bool:
        """Say whether it was held.  What could not be measured was not."""
        if self.measured is None:
            return False
        return self.measured >= self.limit if self.is_floor else self.measured <= self.limit

    def __str__(self) -> str:
        measured = "nothing measured" if self.measured is None else f"{self.measured:g}"
        sign = ">=" if self.is_floor else "<="
        unit = f" {self.unit}" if self.unit else ""
        word = "held" if self.holds else "MISSED"
        return f"{word}: {self.name}: {measured}{unit}, bound {sign} {self.limit:g}{unit}"
