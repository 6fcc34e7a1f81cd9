"""Relaxed security for a system that serves only this machine: DEBUG, or the loopback-only mode.

Loopback-only is production's behaviour (DEBUG off) for a demonstration: plain http, well-known
logins, a secret key in the run folder.  It is safe as long as no other machine can reach it, so
both modes refuse every host name that is not loopback.
"""

import contextlib
import os
import secrets
import tempfile
from collections.abc import MutableMapping, Sequence
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

NAMES = ("localhost", "127.0.0.1", "[::1]")
#: Commands that run the whole system on this machine.
COMMANDS = ("stack", "demo")
MODE = "DJANGO_LOOPBACK_ONLY"
#: The public default of earlier releases.
WELL_KNOWN_KEY = "development-only-secret-key"


def choose(argv: Sequence[str], environ: MutableMapping[str, str]) -> None:
    """Run ``stack`` and ``demo`` loopback-only, unless the caller has chosen a mode."""
    is_local_command = tuple(argv[1:2]) in [(name,) for name in COMMANDS]
    if is_local_command and not (environ.get("DJANGO_DEBUG") or environ.get(MODE)):
        environ[MODE] = "on"


def hosts(names: Sequence[str], *, mode: str) -> list[str]:
    """Return the host names to serve in a mode that is for this machine only.

    Raises ``ImproperlyConfigured`` if another name is configured.
    """
    if others := [name for name in names if name not in NAMES]:
        raise ImproperlyConfigured(
            f"DJANGO_ALLOWED_HOSTS must be loopback names only ({', '.join(NAMES)}) while {mode} "
            f"is on, got {', '.join(others)}. Unset it, or set DJANGO_DEBUG=off and "
            f"{MODE}=off to serve others."
        )
    return list(NAMES)


#: The minimum of Django's `check --deploy`: the key signs logins and callback tokens.
SHORTEST_KEY = 50
MAKE_A_KEY = (
    'Make one with `python3 -c "import secrets; print(secrets.token_urlsafe(60))"`, keep it, and '
    "put the one before it, if any, into DJANGO_SECRET_KEY_FALLBACKS."
)


def secret_key(folder: Path) -> str:
    """Return the secret key of a run folder, created on first use, readable only by its owner.

    Concurrent processes agree on one key: the file is written completely before it gets its name.
    """
    path = folder / "secret-key"
    if not path.exists():
        # A draft for each thread and container: process ids repeat between containers.
        with tempfile.NamedTemporaryFile("w", dir=folder, prefix="secret-key.") as draft:
            draft.write(secrets.token_urlsafe(48))
            draft.flush()
            with contextlib.suppress(FileExistsError):
                os.link(draft.name, path)
    return path.read_text(encoding="ascii")


def check_old_keys(text: str) -> list[str]:
    """Return the former secret keys, from a list separated by commas.

    Refuses the well-known key, whose signatures anyone can forge.
    """
    keys = [key for part in text.split(",") if (key := part.strip())]
    if WELL_KNOWN_KEY in keys:
        raise ImproperlyConfigured(
            "DJANGO_SECRET_KEY_FALLBACKS must not have the development default, which everybody"
            " knows. Leave it out."
        )
    return keys


def check_secret_key(key: str) -> str:
    """Refuse a key that is missing, well known or too short."""
    if key in ("", WELL_KNOWN_KEY):
        raise ImproperlyConfigured(
            "DJANGO_SECRET_KEY is missing or the development default, and DJANGO_DEBUG is off. "
            f"{MAKE_A_KEY}"
        )
    if len(key) < SHORTEST_KEY:
        raise ImproperlyConfigured(
            f"DJANGO_SECRET_KEY must be of {SHORTEST_KEY} characters or more, got {len(key)}. "
            f"{MAKE_A_KEY}"
        )
    return key


def shop_url(allowed_hosts: list[str], *, is_local: bool) -> str:
    """Return the default address of the shop: https at the first allowed host name."""
    if is_local:
        return "http://127.0.0.1:8000"
    names = (name.lstrip(".") for name in allowed_hosts if "*" not in name)
    return f"https://{next(names, 'localhost')}"
