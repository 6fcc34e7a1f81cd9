"""API clients and their tokens, from a terminal."""

import argparse
import json
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_slug
from django.utils import timezone

from orders import tokens
from orders.models import ApiClient


class Command(BaseCommand):
    help = "Adds, lists, rotates and revokes the programs that may use the HTTP API."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        add = actions.add_parser("add", help="a new client; prints its token as the last line")
        add.add_argument("name")
        add.add_argument("--scopes", default=",".join(tokens.SCOPES))
        add.add_argument(
            "--days", type=int, help="how long the token is good; for good if left out"
        )
        rotate = actions.add_parser("rotate", help="a new token; the old ones end after a while")
        rotate.add_argument("name")
        rotate.add_argument("--overlap-hours", type=float, default=24)
        revoke = actions.add_parser("revoke", help="end a client's tokens at once")
        revoke.add_argument("name")
        revoke.add_argument("--prefix", help="only the token that begins so")
        listing = actions.add_parser("list", help="every client and its tokens")
        listing.add_argument("--json", dest="as_json", action="store_true")

    def handle(self, *, action: str, **options: Any) -> None:
        getattr(self, f"_{action}")(options)

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
            raise CommandError(f"There is a client {name} already. Use rotate for a new token.")
        days = options["days"]
        if days is not None and days < 1:
            raise CommandError("--days is 1 or more.")
        scopes = [scope.strip() for scope in options["scopes"].split(",") if scope.strip()]
        if not scopes or set(scopes) - set(tokens.SCOPES):
            raise CommandError(f"--scopes are some of {','.join(tokens.SCOPES)}.")
        client = ApiClient.objects.create(name=name, created_at=timezone.now())
        expires_at = timezone.now() + timedelta(days=days) if days else None
        token = tokens.issue(client, scopes=scopes, expires_at=expires_at)
        self.stdout.write(f"Client {name} may {', '.join(scopes)}. Its token, shown only now:")
        self.stdout.write(token)

    def _rotate(self, options: dict[str, Any]) -> None:
        client = _client(options["name"])
        hours = options["overlap_hours"]
        if hours < 0:
            raise CommandError("--overlap-hours is 0 or more.")
        token = tokens.rotate(client, timedelta(hours=hours))
        self.stdout.write(f"The old tokens of {client} end in {hours:g} h. The new one:")
        self.stdout.write(token)

    def _revoke(self, options: dict[str, Any]) -> None:
        client = _client(options["name"])
        count = tokens.revoke(client, options["prefix"])
        if not count:
            raise CommandError(f"{client} has no such token that is good.")
        self.stdout.write(f"{count} tokens of {client} are revoked.")

    def _list(self, options: dict[str, Any]) -> None:
        found: list[dict[str, Any]] = [
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
            self.stdout.write(json.dumps(found, default=str))
            return
        for client in found:
            self.stdout.write(f"{client['name']}  {client['requests_per_minute']} a minute")
            for token in client["tokens"]:
                end = token["revoked_at"] or token["expires_at"] or "for good"
                scopes = ",".join(token["scopes"])
                used = token["last_used_at"] or "never"
                self.stdout.write(f"  {token['prefix']}  {scopes}  until {end}  last used {used}")


def _client(name: str) -> ApiClient:
    found = ApiClient.objects.filter(name=name).first()
    if found is None:
        raise CommandError(f"There is no client {name}. Add it first.")
    return found
