"""Lists, adds, tests and removes the routes that are told of incidents."""

import argparse
import json
from datetime import time
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from workers.definitions import delivery_problems
from workers.desk.models import Delivery, Route
from workers.desk.models.route import RouteKind
from workers.desk.notify import incident_relay
from workers.desk.operate import routes as checks
from workers.desk.store import routes
from workers.management.terminal import TerminalCommand, actor
from workers.management.wording import counted


class Command(TerminalCommand):
    help = "Lists, adds, tests and removes the routes that are told of incidents."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        listing = actions.add_parser("list", help="every route, and its last delivery")
        listing.add_argument("--json", dest="as_json", action="store_true")
        adding = actions.add_parser("add", help="add a route, or set one of that name")
        adding.add_argument("name")
        adding.add_argument("--kind", required=True, choices=RouteKind.values)
        adding.add_argument("--to", dest="address", default="", help="mail addresses, or the URL")
        adding.add_argument("--secret", default="", help="of a webhook, or PagerDuty's key")
        adding.add_argument("--severity", type=int, choices=(1, 2, 3), default=3)
        adding.add_argument("--incident-kind", dest="kinds", action="append", default=[])
        adding.add_argument("--agent", dest="agents", action="append", default=[])
        adding.add_argument("--quiet", metavar="FROM-TO", help="such as 22:00-07:00")
        adding.add_argument("--time-zone")
        adding.add_argument(
            "--repeat",
            type=int,
            default=0,
            help="seconds between reminders, until somebody takes the incident",
        )
        adding.add_argument(
            "--digest", type=int, default=0, help="seconds for which messages are gathered into one"
        )
        for name, text in (("test", "send a test, now"), ("remove", "with its deliveries")):
            actions.add_parser(name, help=text).add_argument("name")

    def handle(self, *, action: str, **options: Any) -> None:
        getattr(self, f"_{action}")(**options)

    def _list(self, *, as_json: bool, **_: Any) -> None:
        rows = [self._row(route) for route in Route.objects.order_by("name")]
        if as_json:
            self.stdout.write(json.dumps({"routes": rows}, ensure_ascii=False, default=str))
            return
        for row in rows:
            last = row["last"]
            text = (
                f"{last['event']} {last['state']} {last['answer']}" if last else "told of nothing"
            )
            state = "" if row["is_active"] else "  off"
            self.stdout.write(f"{row['name']}  {row['kind']} {row['address']}{state}  {text}")
        self.stdout.write(counted(len(rows), "route") + ".")

    def _row(self, route: Route) -> dict[str, Any]:
        last = Delivery.objects.filter(route=route).order_by("-pk").first()
        facts = last and {
            "event": last.event,
            "state": last.state,
            "at": last.at.isoformat(),
            "answer": _answer(last),
        }
        return {
            "name": route.name,
            "kind": route.kind,
            "address": route.masked_address,
            "is_active": route.is_active,
            "muted_until": route.muted_until,
            "last": facts,
        }

    def _add(
        self, *, name: str, severity: int, quiet: str | None, time_zone: str | None, **options: Any
    ) -> None:
        route = Route.objects.filter(name=name).first() or Route(name=name)
        route.kind, route.address = options["kind"], options["address"]
        route.secret = options["secret"] or route.secret
        route.kinds, route.agents = options["kinds"], options["agents"]
        route.least_severity = severity
        route.repeat_seconds, route.digest_seconds = options["repeat"], options["digest"]
        route.quiet_from, route.quiet_to = _hours(quiet)
        route.time_zone = time_zone or route.time_zone
        new_secret = checks.fill_in(route)
        if problems := checks.problems(route):
            raise CommandError(" ".join(problems.values()))
        try:
            route.full_clean()
        except ValidationError as invalid:
            raise CommandError(" ".join(invalid.messages)) from None
        routes.save(route, actor=actor())
        self.stdout.write(f"Route {name} is told of incidents.")
        if new_secret:
            self.stdout.write("Its messages are signed with this secret, shown only now:")
            self.stdout.write(new_secret)

    def _test(self, *, name: str, **_: Any) -> None:
        route = self._find(name)
        arrived = incident_relay.test(route.pk, actor=actor())
        last = Delivery.objects.filter(route=route).order_by("-pk").first()
        answer = _answer(last) if last else "it is gone"
        if not arrived:
            raise CommandError(f"Route {name} failed: {answer}")
        self.stdout.write(f"Sent to {name}: {answer or 'the mail server took it.'}")

    def _remove(self, *, name: str, **_: Any) -> None:
        routes.delete(self._find(name), actor=actor())
        self.stdout.write(f"Route {name} is gone.")

    def _find(self, name: str) -> Route:
        route = Route.objects.filter(name=name).first()
        if route is None:
            raise CommandError(
                f"There is no route {name!r}. `manage.py sas routes list` names them."
            )
        return route


def _answer(delivery: Delivery) -> str:
    row = delivery
    return delivery_problems.answer_text(row.problem, row.answer_status, row.answer)


def _hours(text: str | None) -> tuple[time | None, time | None]:
    if not text:
        return None, None
    begin, _, end = text.partition("-")
    try:
        return time.fromisoformat(begin.strip()), time.fromisoformat(end.strip())
    except ValueError:
        raise CommandError(f"--quiet must be FROM-TO, such as 22:00-07:00, got {text!r}.") from None
