"""Environment variables, read strictly: an invalid value is refused with a valid example."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

from workers.conf import WORDS, BadSetting, Url, variable

#: In the class below ``str`` is its method.
Text = str


class Variables(environ.Env):  # type: ignore[misc]  # it has no types
    """django-environ, except that an empty variable counts as unset, and a switch is on or off.

    In django-environ ``maybe`` would silently mean off.
    """

    @property
    def ENVIRON(self) -> dict[Text, Text]:  # noqa: N802 (the library's name)
        return {name: value for name in os.environ if (value := variable(name))}

    def str(self, var: Text, default: Any = environ.Env.NOTSET, multiline: bool = False) -> Any:
        """Return a text unchanged: the library would replace ``$x`` by another variable."""
        value = variable(var)
        if value is None or multiline:
            return super().str(var, default=default, multiline=multiline)
        return value

    def bool(self, var: Text, default: Any = environ.Env.NOTSET) -> Any:
        value = self.str(var, default=default)
        is_on = WORDS.get(str(value).lower())
        if is_on is None:
            raise ImproperlyConfigured(f"{var} must be on or off, got {value!r}.")
        return is_on

    def http_url(self, var: Text, default: Text) -> Text:
        try:
            return Url("", name=var).read(self.str(var, default=default))
        except BadSetting as error:
            raise ImproperlyConfigured(f"{error} Give one such as https://example.org.") from None


@contextmanager
def refused(name: str, remedy: str) -> Iterator[None]:
    """Turn any error with a variable into one line that names it.

    Does not show a URL, which may contain a password.
    """
    try:
        yield
    except Exception as error:
        why = str(error).strip() or type(error).__name__
        raise ImproperlyConfigured(
            f"{name} cannot be used: {why.splitlines()[0]}. {remedy}"
        ) from error
