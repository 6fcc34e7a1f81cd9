"""Dead letters of the submission queue, from a terminal."""

import argparse
import json
from typing import Any

from django.core.management.base import CommandError

from orders import dead_letters
from orders.dead_letters import NotNow
from orders.models import DeadLetter, DroppedLetters
from orders.reasons import Refused
from workers.management.process_actions import actor
from workers.management.terminal import TerminalCommand
from workers.management.wording import instant, one_line

DONE = {"replay": "replayed", "discard": "discarded", "restore": "restored"}


class Command(TerminalCommand):
    help = "Lists, shows, replays, discards and restores messages that could not become orders."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("action", choices=["list", "show", *DONE])
        parser.add_argument("ids", nargs="*", type=int, metavar="ID")
        parser.add_argument("--reason", default="", help="kept with them; needed to discard")
        parser.add_argument(
            "--unproven",
            action="store_true",
            help="replay: those, too, of which nobody has proven who sent them; ask first",
        )
        parser.add_argument(
            "--state", choices=DeadLetter.State.values, default="open", help="list: default open"
        )
        parser.add_argument("--client", default="", help="list: only those of this client")
        parser.add_argument(
            "--json", dest="as_json", action="store_true", help="list, show: one JSON value instead"
        )

    def handle(self, *, action: str, ids: list[int], **options: Any) -> None:
        if action == "list":
            self._list(options)
            return
        if not ids:
            raise CommandError(f"Say which to {action}: the ids that `dead_letters list` prints.")
        if action == "show":
            self._show(ids, as_json=options["as_json"])
            return
        reason = options["reason"].strip()
        if action == "discard" and not reason:
            raise CommandError("Say why, with --reason: it is kept with the dead letter.")
        if options["unproven"] and action != "replay":
            raise CommandError("--unproven goes with replay.")
        stands = {"unproven": True} if options["unproven"] else {}
        self._act(action, ids, {"reason": reason, **stands})

    def _act(self, action: str, ids: list[int], given: dict[str, Any]) -> None:
        """Act on each by itself; what is refused leaves the others done."""
        refused = []
        letters = DeadLetter.objects.defer("body").in_bulk(ids)
        for pk in ids:
            try:
                order = dead_letters.VERBS[action](pk, actor=actor(), **given)
            except NotNow as error:
                refused.append(one_line(str(error)))
            except Refused as error:
                refused.append(one_line(f"Dead letter {pk}: {str(error).rstrip('.')}."))
            else:
                became = f": order {order.number}" if order else ""
                who = letters[pk].said_by
                self.stdout.write(f"Dead letter {pk} of {who} is {DONE[action]}{became}.")
        if refused:
            raise CommandError("\n".join(refused))

    def _list(self, options: dict[str, Any]) -> None:
        found = DeadLetter.objects.defer("body").filter(state=options["state"]).order_by("pk")
        if options["client"]:
            found = found.filter(client=options["client"])
        if options["as_json"]:
            self.stdout.write(json.dumps([_facts(one) for one in found], default=str))
            return
        if not found.exists():
            whose = f" of {options['client']}" if options["client"] else ""
            self.stdout.write(f"No dead letters{whose} are {options['state']}.")
        for one in found.iterator():
            why = "; ".join(f"{reason['field']} {reason['problem']}" for reason in one.reasons)
            at = instant(one.received_at)
            self.stdout.write(f"{one.pk}  {at}  {one.said_by}  {one.message_id or '-'}  {why}")
        for dropped in DroppedLetters.objects.order_by("sender"):
            self.stderr.write(
                f"Not kept, as too many were open: {dropped}, {dropped.bytes} bytes,"
                f" {instant(dropped.first_at)} to {instant(dropped.last_at)}."
            )

    def _show(self, ids: list[int], *, as_json: bool) -> None:
        found = list(DeadLetter.objects.filter(pk__in=ids).order_by("pk"))
        missing = sorted(set(ids) - {one.pk for one in found})
        if missing:
            raise CommandError(f"There is no dead letter {', '.join(map(str, missing))}.")
        facts = [_facts(one, with_body=True) for one in found]
        if as_json:
            self.stdout.write(json.dumps(facts, default=str, ensure_ascii=True))
            return
        for one in facts:
            # The name alone would pass for proven.
            del one["client"]
            for name, value in one.items():
                shown = value if isinstance(value, str) else json.dumps(value, default=str)
                first, *rest = shown.split("\n")
                self.stdout.write(f"{name}: {first}")
                for line in rest:
                    self.stdout.write(f"  {line}")


def _facts(letter: DeadLetter, *, with_body: bool = False) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "id": letter.pk,
        "state": letter.state,
        "received_at": letter.received_at,
        "sender": letter.said_by,
        "client": letter.client,
        "message_id": letter.message_id,
        "reasons": letter.reasons,
        "properties": letter.properties,
        "order": letter.order_id,
        "resolved_by": letter.resolved_by,
        "comment": letter.comment,
    }
    if with_body:
        facts["body"] = bytes(letter.body).decode("utf-8", "backslashreplace")
    return facts
