"""What apps keep of a person beside the engine's own rows: each app says it itself."""

from collections.abc import Callable, Iterable
from typing import Any

from workers.definitions import discovery


class PersonalRows:
    """Rows of an app that say who a person is; a subclass overrides what applies.

    An app registers an instance in its module ``personal_rows`` (``register_personal_rows``).
    Each method runs inside a transaction or in none, and must do the same when called again.
    """

    #: What a listing calls them.
    name: str

    def processes(self, email: str) -> Iterable[int]:
        """Return the ids of the processes that are about the person with this address.

        Processes whose input has the address where their workflow declares it ``personal`` are
        found without.
        """
        return ()

    def of_process(self, process_id: int) -> list[dict[str, Any]]:
        """Return what the app keeps of a process, for the person to have."""
        return []

    def erase_of_process(self, process_id: int, hide: Callable[[str], str]) -> None:
        """Erase what is personal in the app's rows of a process, in the transaction that does.

        ``hide`` returns a text without the personal values of that process.
        """

    def of_person(self, email: str) -> list[dict[str, Any]]:
        """Return what the app keeps of the person beside processes."""
        return []

    def kept(self, email: str) -> list[str]:
        """Return why a row of those must not be deleted yet, and what to do: a line for each."""
        return []

    def erase_of_person(self, email: str) -> int:
        """Delete what ``of_person`` returns, or the person in it, but what is ``kept``.

        Returns how many rows that were.
        """
        return 0


_registered: dict[str, PersonalRows] = {}


def register_personal_rows(rows: PersonalRows) -> PersonalRows:
    """Register rows that say who a person is; the same name replaces them."""
    _registered[rows.name] = rows
    return rows


def personal_rows() -> list[PersonalRows]:
    """Return what the installed apps registered; raises ``WorkflowError`` if one cannot."""
    discovery.import_modules("personal_rows")
    return list(_registered.values())
