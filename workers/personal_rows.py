"""Personal data in what the engine keeps beside processes: reasons of acts on many, schedules."""

from typing import Any

from workers.models import Hold, Journal, Schedule
from workers.privacy.personal_rows import PersonalRows, register_personal_rows
from workers.rules.masks import STARS


class Reasons(PersonalRows):
    """Reasons of holds and of journalled acts without a process become ``***``."""

    name = "reasons"

    def of_person(self, email: str) -> list[dict[str, Any]]:
        return [
            *({"at": row.began_at, "text": row.reason} for row in self._holds(email)),
            *({"at": row.at, "text": row.detail["reason"]} for row in self._acts(email)),
        ]

    def erase_of_person(self, email: str) -> int:
        holds, acts = self._holds(email), self._acts(email)
        Hold.objects.filter(pk__in=[row.pk for row in holds]).update(reason=STARS)
        for row in acts:
            Journal.objects.filter(pk=row.pk).update(detail={**row.detail, "reason": STARS})
        return len(holds) + len(acts)

    def _holds(self, email: str) -> list[Hold]:
        rows = Hold.objects.filter(reason__icontains=self.needle(email))
        return [row for row in rows if self.has_address(email, row.reason)]

    def _acts(self, email: str) -> list[Journal]:
        rows = Journal.objects.filter(process=None, detail__reason__isnull=False)
        return [row for row in rows.iterator() if self.has_address(email, row.detail["reason"])]


class Schedules(PersonalRows):
    """Schedules that begin processes about the person; like an open process, one must end first."""

    name = "schedules"

    def of_person(self, email: str) -> list[dict[str, Any]]:
        shown = ("name", "subject", "input", "attributes")
        return [{name: getattr(row, name) for name in shown} for row in self._rows(email)]

    def kept(self, email: str) -> list[str]:
        return [
            f"Schedule {row.name} begins processes about this person. Unschedule it, then erase."
            for row in self._rows(email)
        ]

    def _rows(self, email: str) -> list[Schedule]:
        rows = Schedule.objects.iterator()
        return [
            row
            for row in rows
            if self.has_address(email, row.name, row.subject, row.input, row.attributes)
        ]


register_personal_rows(Reasons())
register_personal_rows(Schedules())
