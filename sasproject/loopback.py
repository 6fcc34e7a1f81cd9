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


#: What Django's `check --deploy` asks for, too: logins and callback tokens are signed with it.
SHORTEST_KEY = 50
MAKE_A_KEY = (
    'Make one with `python3 -c "import secrets; print(secrets.token_urlsafe(60))"`, keep it, and '
    "put the one before it, if any, into DJANGO_SECRET_KEY_FALLBACKS."
)


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


def check_old_keys(text: str) -> list[str]:
    """Return the keys that were the secret key before, from a list with commas between.

    Refuses the one that everybody knows: whatever it signed would be taken.
    """
    keys = [key for part in text.split(",") if (key := part.strip())]
    if WELL_KNOWN_KEY in keys:
        raise ImproperlyConfigured(
            "DJANGO_SECRET_KEY_FALLBACKS must not have the development default, which everybody"
            " knows. Leave it out."
        )
    return keys


def check_secret_key(key: str) -> str:
    """Refuse a key that is missing, that everybody knows, or that can be guessed."""
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
    """Return where the shop is, unless somebody says: by https at the first name it answers."""
    if is_local:
        return "http://127.0.0.1:8000"
    names = (name.lstrip(".") for name in allowed_hosts if "*" not in name)
    return f"https://{next(names, 'localhost')}"
