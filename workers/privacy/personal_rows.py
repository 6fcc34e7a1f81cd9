"""What apps keep about a person beside the engine's own rows, as each app declares."""

from collections.abc import Callable, Iterable
from typing import Any

from workers.definitions import discovery
from workers.privacy import mail_addresses


class PersonalRows:
    """Rows of an app that say who a person is; a subclass overrides what applies.

    An app registers an instance in its module ``personal_rows`` (``register_personal_rows``).
    Each method runs with or without a transaction, and must do the same when called again.
    """

    #: Their name in listings.
    name: str

    #: ``has_address(email, *values)`` says whether texts, bytes or documents have exactly this
    #: address, in whatever form; ``needle(email)`` is a part of it to narrow a query by.
    has_address = staticmethod(mail_addresses.names)
    needle = staticmethod(mail_addresses.needle)

    def processes(self, email: str) -> Iterable[int]:
        """Return the ids of the processes that are about the person with this address.

        Not needed for processes whose input has the address under a path that their workflow
        declares ``personal``.
        """
        return ()

    def of_process(self, process_id: int) -> list[dict[str, Any]]:
        """Return what the app keeps about a process, for the export to the person."""
        return []

    def erase_of_process(self, process_id: int, hide: Callable[[str], str]) -> None:
        """Erase what is personal in the app's rows of a process, in the erasing transaction.

        ``hide`` returns a text without the personal values of that process.
        """

    def of_person(self, email: str) -> list[dict[str, Any]]:
        """Return what the app keeps about the person beside processes."""
        return []

    def kept(self, email: str) -> list[str]:
        """Return why rows of the person must not be deleted yet, and what to do, line by line."""
        return []

    def erase_of_person(self, email: str) -> int:
        """Delete the rows of ``of_person``, or the person in them, except those ``kept``.

        Returns the number of rows.
        """
        return 0


_registered: dict[str, PersonalRows] = {}


def register_personal_rows(rows: PersonalRows) -> PersonalRows:
    """Register rows that say who a person is; the same name replaces them."""
    _registered[rows.name] = rows
    return rows


def personal_rows() -> list[PersonalRows]:
    """Return what the installed apps registered; raise ``WorkflowError`` if one cannot."""
    discovery.import_modules("personal_rows")
    return list(_registered.values())
