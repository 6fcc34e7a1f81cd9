"""Acts on many processes as one job, which can be watched, paused and stopped."""

import argparse
import json
from collections import Counter
from dataclasses import asdict
from typing import Any, Literal

from django.core.management.base import CommandError

from workers.desk.admin import masking
from workers.desk.admin.bulk import named_sets, selection
from workers.desk.admin.bulk.kinds import BY_NAME
from workers.desk.admin.bulk.selection import Selection
from workers.desk.models import BulkJob
from workers.desk.operate import job_results, jobs
from workers.desk.rules.job_verbs import STEERING
from workers.exceptions import StateError
from workers.management.nouns.process import add_pairs
from workers.management.terminal import TerminalCommand, actor
from workers.management.wording import counted

#: Reasons that a dry run prints.
REASONS = 10


class Command(TerminalCommand):
    help = "Acts on many processes as one job; lists, shows, pauses, resumes and stops jobs."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        start = actions.add_parser("start", help="make a job and start it")
        start.add_argument("verb", choices=sorted(BY_NAME))
        for name, says in named_sets.OPTIONS.items():
            start.add_argument(f"--{name}", help=says)
        add_pairs(start, "--where", "the processes with this attribute; may be repeated")
        start.add_argument("--reason", default="", help="kept in the journal; needed to act")
        start.add_argument("--rate", type=float, help="processes a second at most")
        start.add_argument(
            "--sample",
            type=int,
            metavar="N",
            help="pause after the first N that change; `sas jobs resume` goes on with the rest",
        )
        start.add_argument("--limit", type=int, help="processes at most, the oldest first")
        start.add_argument(
            "--nothing-happened",
            action="store_true",
            help="resubmit: you found out that steps in doubt had no effect",
        )
        start.add_argument(
            "--may-happen-twice",
            action="store_true",
            help="redo: accept that steps with an unknown outcome may happen twice",
        )
        start.add_argument("--dry-run", action="store_true", help="only say what would happen")
        listing = actions.add_parser("list", help="the newest jobs")
        listing.add_argument("--limit", type=int, default=20, help="jobs at most")
        show = actions.add_parser("show", help="how far a job is, and what became of it")
        show.add_argument("job", type=int, metavar="JOB")
        for subparser in (start, listing, show):
            subparser.add_argument(
                "--json", dest="as_json", action="store_true", help="print JSON instead"
            )
        for act in STEERING:
            steering = actions.add_parser(act, help=f"{act} a job")
            steering.add_argument("job", type=int, metavar="JOB")
            steering.add_argument("--reason", default="", help="kept in the journal")

    def handle(self, *, action: str, **options: Any) -> None:
        if action in STEERING:
            self._steer(action, options["job"], options["reason"].strip())
        else:
            getattr(self, f"_{action}")(**options)

    def _start(self, *, verb: str, as_json: bool, dry_run: bool, **options: Any) -> None:
        reason, rate, limit = options["reason"].strip(), options["rate"], options["limit"]
        if not reason and not dry_run:
            raise CommandError("A job needs a reason, which is kept in the journal. Give --reason.")
        if rate is not None and not rate > 0:
            raise CommandError(f"--rate must be a number above 0, got {rate:g}.")
        if limit is not None and limit < 1:
            raise CommandError(f"--limit must be 1 or more, got {limit}.")
        sample = options["sample"]
        if sample is not None and sample < 1:
            raise CommandError(f"--sample must be 1 or more, got {sample}.")
        words = ("nothing_happened", "may_happen_twice")
        params = {word: True for word in words if options[word]}
        try:
            rows, source = named_sets.find(options)
        except StateError as refusal:
            raise CommandError(str(refusal)) from None
        # The job's page shows the refusals of single processes.
        tried: Literal["all", "none"] = "all" if dry_run else "none"
        selected = selection.select(rows, "", BY_NAME[verb], params=params, tried=tried)
        if limit is not None:
            selected.keep(limit)
        if dry_run:
            self._preview(selected, as_json=as_json)
            return
        if not selected.seen:
            raise CommandError(f"None of these processes would change. See {verb} --dry-run.")
        job_id = jobs.start(
            verb,
            selected.seen,
            actor=actor(),
            reason=reason,
            source=source,
            params=params,
            rate_per_second=rate,
            sample=sample or 0,
        )
        if not as_json:
            self.stdout.write(_headline(selected))
        self.stdout.write(json.dumps({"job": job_id}) if as_json else str(job_id))

    def _preview(self, selected: Selection, *, as_json: bool) -> None:
        """Print how many would be accepted and refused, why, and what would hold them up."""
        refusals = Counter(why for _row, why in selected.left_out)
        warnings = selected.warnings()
        if as_json:
            facts = {
                "accepted": len(selected.seen),
                "refused": len(selected.left_out),
                "reasons": [why for why, _n in refusals.most_common(REASONS)],
                "warnings": warnings,
            }
            self.stdout.write(json.dumps(facts, ensure_ascii=False))
            return
        self.stdout.write(f"{_headline(selected)} {len(selected.left_out)} would be refused.")
        for why, _n in refusals.most_common(REASONS):
            self.stdout.write(f"  {why}")
        for warning in warnings:
            self.stdout.write(f"Mind: {warning}")

    def _list(self, *, limit: int, as_json: bool, **_: Any) -> None:
        rows = masking.conceal_words(BulkJob.objects.order_by("-pk")[:limit], "reason")
        if as_json:
            self.stdout.write(json.dumps([_facts(row) for row in rows], ensure_ascii=False))
            return
        for row in rows:
            self.stdout.write(
                f"{row.pk:<8}{row.state:<10}{row.verb:<10}{row.done} of {row.total},"
                f" {row.refused} refused  {row.actor}: {row.reason}"
            )
        self.stdout.write(f"{counted(len(rows), 'job')}.")

    def _show(self, *, job: int, as_json: bool, **_: Any) -> None:
        row = BulkJob.objects.filter(pk=job).first()
        if row is None:
            raise CommandError(f"There is no job {job}.")
        masking.conceal_words([row], "reason")
        outcome = asdict(job_results.outcome(job))
        if as_json:
            facts = {**_facts(row), "outcome": outcome}
            self.stdout.write(json.dumps(facts, ensure_ascii=False))
            return
        self.stdout.write(f"Job {row.pk}: {row.verb}, {row.state}; {row.actor}: {row.reason}")
        self.stdout.write(f"{row.done} of {row.total} worked through, {row.refused} refused.")
        counts = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in outcome.items())
        self.stdout.write(f"What became of them: {counts}.")
        if row.is_sampled:
            self.stdout.write(
                f"It paused after a sample of {row.sample}; `sas jobs resume {row.pk}` goes on"
                f" with the other {row.left}."
            )

    def _steer(self, act: str, job: int, reason: str) -> None:
        try:
            jobs.steer(job, act, actor=actor(), reason=reason)
        except StateError as refusal:
            raise CommandError(str(refusal)) from None
        self.stdout.write(f"Job {job} is {BulkJob.objects.get(pk=job).state}.")


def _headline(selected: Selection) -> str:
    n = len(selected.seen)
    return f"{selected.bulk.label}: {n} {'process' if n == 1 else 'processes'}."


def _facts(row: BulkJob) -> dict[str, Any]:
    return {
        "job": row.pk,
        "verb": row.verb,
        "state": row.state,
        "total": row.total,
        "done": row.done,
        "refused": row.refused,
        "sample": row.sample,
        "actor": row.actor,
        "reason": row.reason,
    }
