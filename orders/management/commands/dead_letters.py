"""Dead letters of the submission queue, from a terminal."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from orders import dead_letters, letter_corrections, letter_groups
from orders.admin import dead_letter as letter_page
from orders.admin.letter_corrections import before_in_words, mask_of
from orders.dead_letters import NotNow
from orders.letter_corrections import Correction
from orders.models import DeadLetter, DroppedLetters
from orders.reasons import Refused
from workers.desk.admin import masking
from workers.desk.admin.masking import Mask
from workers.desk.management import showing
from workers.management.terminal import TerminalCommand, actor
from workers.management.wording import instant, one_line

DONE = {
    "replay": "replayed",
    "note": "noted",
    "discard": "discarded",
    "restore": "restored",
}
#: Actions that need a reason.
NEED_REASON = ("note", "discard")


class Command(TerminalCommand):
    help = (
        "Lists, groups, shows, notes, corrects, replays, discards and restores messages that could "
        "not become orders."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("action", choices=["list", "groups", "show", "correct", *DONE])
        parser.add_argument("ids", nargs="*", type=int, metavar="ID")
        parser.add_argument(
            "--like",
            type=int,
            metavar="ID",
            help="all open ones of the same reason and client, as `groups` prints them",
        )
        parser.add_argument(
            "--reason", default="", help="kept with them; needed to note, correct and discard"
        )
        parser.add_argument(
            "--body", metavar="FILE", help="correct: the message as it should be; - reads stdin"
        )
        parser.add_argument("--message-id", default=None, help="correct: another key")
        parser.add_argument(
            "--dry-run", action="store_true", help="correct: only print what would be different"
        )
        parser.add_argument(
            "--unproven",
            action="store_true",
            help="replay, correct: those, too, of which nobody has proven who sent them; ask first",
        )
        parser.add_argument(
            "--state", choices=DeadLetter.State.values, default="open", help="list: default open"
        )
        parser.add_argument("--client", default="", help="list: only those of this client")
        parser.add_argument(
            "--json", dest="as_json", action="store_true", help="list, groups, show: one JSON value"
        )

        showing.add_argument(parser)

    def handle(self, *, action: str, ids: list[int], **options: Any) -> None:
        if action == "list":
            self._list(options)
            return
        if action == "groups":
            self._groups(as_json=options["as_json"])
            return
        if options["like"] is not None:
            if ids or action not in DONE or action == "restore":
                raise CommandError("--like goes with replay, note and discard, instead of ids.")
            ids = list(
                letter_groups.like(options["like"]).order_by("pk").values_list("pk", flat=True)
            )
            if not ids:
                raise CommandError(f"No open dead letter is like {options['like']}.")
        if not ids:
            raise CommandError(f"Say which to {action}: the ids that `dead_letters list` prints.")
        if action == "show":
            self._show(ids, options)
            return
        reason = options["reason"].strip()
        if action in (*NEED_REASON, "correct") and not reason:
            raise CommandError("Say why, with --reason: it is kept with the dead letter.")
        if options["unproven"] and action not in ("replay", "correct"):
            raise CommandError("--unproven goes with replay and correct.")
        flags = {"unproven": True} if options["unproven"] else {}
        if action == "correct":
            self._correct(ids, {"reason": reason, **flags}, options)
            return
        self._act(action, ids, {"reason": reason, **flags})

    def _act(self, action: str, ids: list[int], params: dict[str, Any]) -> None:
        """Act on each dead letter separately; a refusal does not stop the others."""
        refusals = []
        letters = DeadLetter.objects.defer("body").in_bulk(ids)
        for pk in ids:
            try:
                order = dead_letters.VERBS[action](pk, actor=actor(), **params)
            except NotNow as error:
                refusals.append(one_line(str(error)))
            except Refused as error:
                refusals.append(one_line(f"Dead letter {pk}: {str(error).rstrip('.')}."))
            else:
                result = f": order {order.number}" if order else ""
                sender = letters[pk].sender_label
                self.stdout.write(f"Dead letter {pk} of {sender} is {DONE[action]}{result}.")
        if refusals:
            raise CommandError("\n".join(refusals))

    def _correct(self, ids: list[int], params: dict[str, Any], options: dict[str, Any]) -> None:
        """Print the changes, and replay the corrected message unless ``--dry-run``."""
        letter = DeadLetter.objects.filter(pk=ids[0]).first() if len(ids) == 1 else None
        if letter is None:
            raise CommandError("Correct one dead letter: give the id of one that there is.")
        before = letter_corrections.value_of(bytes(letter.body))
        after, body = before, bytes(letter.body)
        if options["body"]:
            body = _read(options["body"])
            after = letter_corrections.value_of(body)
        kept_id = str(letter.properties.get("message_id") or "")
        message_id = kept_id if options["message_id"] is None else options["message_id"]
        changes = letter_corrections.diff_of_message(before, after, kept_id, message_id)
        if not changes:
            raise CommandError("No changes. Give --body or --message-id.")
        mask = showing.mask_or_show(letter, mask_of(letter), options, None)
        for change in changes:
            # The old value is masked; the new one is the operator's own.
            old = before_in_words(change, mask)
            new = letter_corrections.in_words(change.after)
            self.stdout.write(
                f"{change.path or 'message'}: {old or 'nothing'} -> {new or 'nothing'}"
            )
        correction = Correction(body, message_id)
        unproven = bool(params.get("unproven"))
        if problems := dead_letters.problems(letter, correction, unproven=unproven):
            raise CommandError(
                "\n".join(one_line(f"{problem.field}: {problem.problem}") for problem in problems)
            )
        if options["dry_run"]:
            sender = letter.sender_label
            self.stdout.write(f"Dead letter {letter.pk} of {sender} would be an order.")
            return
        self._act("replay", [letter.pk], {**params, "correction": correction})

    def _groups(self, *, as_json: bool) -> None:
        groups = letter_groups.read()
        if as_json:
            rows = [{**asdict(group), "is_proven": group.is_proven} for group in groups]
            self.stdout.write(json.dumps({"groups": rows}, default=str))
            return
        if not groups:
            self.stdout.write("No dead letters are open.")
        for group in groups:
            self.stdout.write(
                f"{group.count}  like {group.pk}  {group.sender_label}  {instant(group.first)} to"
                f" {instant(group.last)}  {group.cause or '-'}"
            )

    def _list(self, options: dict[str, Any]) -> None:
        letters = DeadLetter.objects.defer("body").filter(state=options["state"]).order_by("pk")
        if options["client"]:
            letters = letters.filter(client=options["client"])
        if options["as_json"]:
            rows = [_facts(letter, masking.UNKNOWN) for letter in letters]
            self.stdout.write(json.dumps(rows, default=str))
            return
        if not letters.exists():
            suffix = f" of {options['client']}" if options["client"] else ""
            self.stdout.write(f"No dead letters{suffix} are {options['state']}.")
        for letter in letters.iterator():
            text = "; ".join(f"{reason['field']} {reason['problem']}" for reason in letter.reasons)
            why = masking.UNKNOWN.text(text)
            at, sender = instant(letter.received_at), letter.sender_label
            self.stdout.write(f"{letter.pk}  {at}  {sender}  {letter.message_id or '-'}  {why}")
        for dropped in DroppedLetters.objects.order_by("sender"):
            self.stderr.write(
                f"Not kept, as too many were open: {dropped}, {dropped.bytes} bytes,"
                f" {instant(dropped.first_at)} to {instant(dropped.last_at)}."
            )

    def _show(self, ids: list[int], options: dict[str, Any]) -> None:
        letters = list(DeadLetter.objects.filter(pk__in=ids).order_by("pk"))
        missing = sorted(set(ids) - {letter.pk for letter in letters})
        if missing:
            raise CommandError(f"There is no dead letter {', '.join(map(str, missing))}.")
        rows = []
        for letter in letters:
            mask = showing.mask_or_show(letter, mask_of(letter), options, None)
            rows.append({**_facts(letter, mask), "body": _body(bytes(letter.body), mask)})
        if options["as_json"]:
            self.stdout.write(json.dumps(rows, default=str, ensure_ascii=True))
            return
        for row in rows:
            # Without its mark a claimed name would look proven.
            del row["client"]
            for name, value in row.items():
                text = value if isinstance(value, str) else json.dumps(value, default=str)
                first, *rest = text.split("\n")
                self.stdout.write(f"{name}: {first}")
                for line in rest:
                    self.stdout.write(f"  {line}")


def _read(name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(
            f"--body must be a file that can be read, got {name!r}: {error}."
        ) from None


def _body(body: bytes, mask: Mask) -> str:
    """Return a body masked as in the admin, or unmasked as it was sent."""
    if mask is masking.UNMASKED:
        return body.decode("utf-8", "backslashreplace")
    return letter_page.body_text(body, mask)


def _facts(letter: DeadLetter, mask: Mask) -> dict[str, Any]:
    return {
        "id": letter.pk,
        "state": letter.state,
        "received_at": letter.received_at,
        "sender": letter.sender_label,
        "client": letter.client,
        "message_id": letter.message_id,
        "reasons": mask.value(letter.reasons),
        "properties": mask.value(letter.properties),
        "order": letter.order_id,
        "resolved_by": letter.resolved_by,
        "comment": mask.text(letter.comment),
    }
