"""What may be relaxed because only this machine is answered: with DEBUG, or loopback-only.

Loopback-only is production's behaviour (DEBUG off) for a demonstration: plain http, logins
that everybody knows, a secret key of the run folder.  It holds as long as nobody else can
reach it, so both modes refuse every host name that is not loopback.
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
#: The default of earlier releases: everybody can read it.
WELL_KNOWN_KEY = "development-only-secret-key"


def choose(argv: Sequence[str], environ: MutableMapping[str, str]) -> None:
    """Have ``stack`` and ``demo`` run loopback-only, unless the caller has chosen a mode."""
    is_ours = tuple(argv[1:2]) in [(name,) for name in COMMANDS]
    if is_ours and not (environ.get("DJANGO_DEBUG") or environ.get(MODE)):
        environ[MODE] = "on"


def hosts(names: Sequence[str], *, mode: str) -> list[str]:
    """Return the host names to answer in a mode that is for this machine alone.

    Raises ``ImproperlyConfigured`` where another name is asked for.
    """
    if strangers := [name for name in names if name not in NAMES]:
        raise ImproperlyConfigured(
            f"DJANGO_ALLOWED_HOSTS must be loopback names only ({', '.join(NAMES)}) while {mode} "
            f"is on, got {', '.join(strangers)}. Unset it, or set DJANGO_DEBUG=off and "
            f"{MODE}=off to serve others."
        )
    return list(NAMES)


def secret_key(folder: Path) -> str:
    """Return the secret key of a run folder, made on first use, readable by its owner alone.

    Processes that start at once agree on one: a key is written whole before it has its name.
    """
    path = folder / "secret-key"
    if not path.exists():
        # Its own for each thread, and for each container, where every process may have one id.
        with tempfile.NamedTemporaryFile("w", dir=folder, prefix="secret-key.") as draft:
            draft.write(secrets.token_urlsafe(48))
            draft.flush()
            with contextlib.suppress(FileExistsError):
                os.link(draft.name, path)
    return path.read_text(encoding="ascii")


def check_secret_key(key: str) -> str:
    """Refuse a key that is missing, or that everybody knows."""
    if key in ("", WELL_KNOWN_KEY):
        raise ImproperlyConfigured(
            "DJANGO_SECRET_KEY is missing or the development default, and DJANGO_DEBUG is off. "
            "Set DJANGO_SECRET_KEY to a long random text."
        )
    return key
