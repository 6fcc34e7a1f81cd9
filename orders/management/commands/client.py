"""API clients and their tokens, from a terminal."""

import argparse
import json
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.core.validators import validate_slug
from django.utils import timezone

from orders import tokens, webhooks
from orders.models import ApiClient
from workers import durable, record_act
from workers.management.terminal import TerminalCommand, actor
from workers.management.wording import counted


class Command(TerminalCommand):
    help = "Adds, lists, rotates and revokes the programs that may use the HTTP API."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        add = actions.add_parser("add", help="a new client; prints its token as the last line")
        issue = actions.add_parser("issue", help="one more token; prints it as the last line")
        for action in (add, issue):
            action.add_argument("name")
            action.add_argument("--scopes", default=",".join(tokens.SCOPES))
            action.add_argument(
                "--days", type=int, help="how long the token is good; for good if left out"
            )
        rotate = actions.add_parser("rotate", help="a new token; the old ones end after a while")
        rotate.add_argument("name")
        rotate.add_argument("--overlap-hours", type=float, default=24)
        secret = actions.add_parser(
            "webhook-secret", help="what its webhooks are signed with; prints it as the last line"
        )
        secret.add_argument("name")
        secret.add_argument(
            "--rotate", action="store_true", help="make a new one; the old one signs for a while"
        )
        secret.add_argument("--overlap-hours", type=float, default=24)
        revoke = actions.add_parser("revoke", help="end a client's tokens at once")
        revoke.add_argument("name")
        revoke.add_argument("--prefix", help="only the token that begins so")
        listing = actions.add_parser("list", help="every client and its tokens")
        listing.add_argument("--json", dest="as_json", action="store_true")

    def handle(self, *, action: str, **options: Any) -> None:
        getattr(self, f"_{action.replace('-', '_')}")(options)

    def _add(self, options: dict[str, Any]) -> None:
        name = options["name"]
        try:
            validate_slug(name)
        except ValidationError:
            raise CommandError(
                f"{name!r} is no name for a client. Use letters, digits, - and _."
            ) from None
        if len(name) > 40:
            raise CommandError("A client's name has 40 characters at most.")
        if ApiClient.objects.filter(name=name).exists():
            raise CommandError(f"There is a client {name} already. Use issue for another token.")
        scopes, expires_at = _scopes_and_end(options)
        with durable("client.add"):
            client = ApiClient.objects.create(name=name, created_at=timezone.now())
            token = tokens.issue(client, scopes=scopes, expires_at=expires_at)
            _record("add", client)
        self.stdout.write(f"Client {name} may {', '.join(scopes)}. Its token, shown only now:")
        self.stdout.write(token)

    def _issue(self, options: dict[str, Any]) -> None:
        client = _client(options["name"])
        scopes, expires_at = _scopes_and_end(options)
        with durable("client.issue"):
            token = tokens.issue(client, scopes=scopes, expires_at=expires_at)
            _record("issue", client)
        self.stdout.write(f"With it {client} may {', '.join(scopes)}. The token, shown only now:")
        self.stdout.write(token)

    def _rotate(self, options: dict[str, Any]) -> None:
        client = _client(options["name"])
        hours = _overlap(options)
        try:
            with durable("client.rotate"):
                token = tokens.rotate(client, timedelta(hours=hours))
                _record("rotate", client)
        except tokens.NoToken as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"The old tokens of {client} end in {hours:g} h. The new one:")
        self.stdout.write(token)

    def _webhook_secret(self, options: dict[str, Any]) -> None:
        client = _client(options["name"])
        hours = _overlap(options)
        if options["rotate"]:
            try:
                with durable("client.webhook_secret"):
                    webhooks.rotate(client, timedelta(hours=hours))
                    _record("rotate_secret", client)
            except webhooks.SecretPromised as error:
                raise CommandError(str(error)) from None
            old = f"two signatures for {hours:g} h" if hours else "no other signature any more"
            self.stdout.write(f"Webhooks to {client} have {old}.")
        if not options["rotate"]:
            _record("reveal", client)
        self.stdout.write(f"Webhooks to {client} are signed with:")
        self.stdout.write(client.webhook_secret)

    def _revoke(self, options: dict[str, Any]) -> None:
        client = _client(options["name"])
        with durable("client.revoke"):
            count = tokens.revoke(client, options["prefix"])
            if not count:
                raise CommandError(f"{client} has no such token that is good.")
            _record("revoke_one" if options["prefix"] else "revoke", client, options["prefix"])
        self.stdout.write(f"{counted(count, 'token')} of {client} revoked.")

    def _list(self, options: dict[str, Any]) -> None:
        clients: list[dict[str, Any]] = [
            {
                "name": client.name,
                "active": client.is_active,
                "requests_per_minute": client.requests_per_minute,
                "tokens": list(
                    client.tokens.values(
                        "prefix", "scopes", "expires_at", "revoked_at", "last_used_at"
                    )
                ),
            }
            for client in ApiClient.objects.prefetch_related("tokens")
        ]
        if options["as_json"]:
            self.stdout.write(json.dumps(clients, default=str))
            return
        if not clients:
            self.stdout.write("No clients. Add one: `manage.py client add NAME`.")
        for client in clients:
            self.stdout.write(f"{client['name']}  {client['requests_per_minute']} a minute")
            for token in client["tokens"]:
                end = token["revoked_at"] or token["expires_at"] or "for good"
                scopes = ",".join(token["scopes"])
                last_used = token["last_used_at"] or "never"
                self.stdout.write(
                    f"  {token['prefix']}  {scopes}  until {end}  last used {last_used}"
                )


def _record(act: str, client: ApiClient, prefix: str | None = None) -> None:
    """Journal an action on a client, as the admin does, without any secret."""
    record_act(f"client_{act}", {"client": client.name, "prefix": prefix}, actor=actor())


def _scopes_and_end(options: dict[str, Any]) -> tuple[list[str], datetime | None]:
    """Return a new token's scopes and expiry."""
    days = options["days"]
    if days is not None and not 1 <= days <= tokens.MOST_DAYS:
        raise CommandError(f"--days is 1 or more, and {tokens.MOST_DAYS} at most.")
    scopes = [scope.strip() for scope in options["scopes"].split(",") if scope.strip()]
    if not scopes or set(scopes) - set(tokens.SCOPES):
        raise CommandError(f"--scopes are some of {','.join(tokens.SCOPES)}.")
    return scopes, timezone.now() + timedelta(days=days) if days else None


def _overlap(options: dict[str, Any]) -> float:
    hours: float = options["overlap_hours"]
    if not 0 <= hours <= tokens.MOST_OVERLAP_HOURS:
        raise CommandError(
            f"--overlap-hours is 0 or more, and {tokens.MOST_OVERLAP_HOURS} at most."
        )
    return hours


def _client(name: str) -> ApiClient:
    client = ApiClient.objects.filter(name=name).first()
    if client is None:
        raise CommandError(f"There is no client {name}. Add it first.")
    return client
