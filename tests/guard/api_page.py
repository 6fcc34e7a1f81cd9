"""Writes `docs/reference/api.md` from the docstrings: `python -m tests.guard.api_page`."""

import inspect
from enum import Enum
from pathlib import Path
from typing import Any, get_args

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "api.md"
HEAD = """# Public API

What an application imports from `workers`, in the words of its docstrings: `python -m tests.guard.api_page` writes this page, and a test compares it with the code.
Beside it: `workers.celery.install` ([install the engine](../how-to/install-into-your-project.md)), `workers.http.post`, `fault_of_status` and `trace_headers` ([write an agent](../how-to/write-an-agent.md)), `workers.logs` ([read its log](../how-to/install-into-your-project.md#7-read-its-log)), `workers.testing` ([test a workflow](../how-to/test-a-workflow.md)).
[Compatibility](compatibility.md) says what may change when.

## Extension points

Public, too; a contract in `pyproject.toml` keeps the shop to these.

| Module | For |
|---|---|
| `workers.urls`, `workers.views` | The addresses for [callbacks and webhooks](../how-to/wait-for-an-answer.md), and what is behind them. |
| `workers.client` | `callbacks`, `progress`, and `explaining` for wait reasons in words of your own. |
| `workers.definitions` | `workflow.Json`, `webhook_provider.Event` and `Answer`, `registry`. |
| `workers.exceptions` | Every error; `AWAY`, what a database that is away raises. |
| `workers.models`, `workers.states` | Reading rows, and the names of their states. |
| `workers.conf` | `sas`, the [settings](settings.md) as they are; `variable`, one of the environment. |
| `workers.http` | `ssrf_guard` (addresses that others name), `strict_json` (bodies that others send). |
| `workers.celery` | `queues`, `conf`, `broker_login`, for a wiring of one's own. |
| `workers.desk.admin` | Lists, columns, filters and actions for your admin; `subjects`. |
| `workers.management`, `workers.desk.management` | `terminal`, `wording`; `process_actions`, `process_report`, `showing`: commands of one's own. |
| `workers.ops` | `metrics`, `invariants`, `invariant_check`: figures and checks of one's own. |
| `workers.ops.doctor` | `registry` and `finding`: probes of one's own, in sentences made with `say` of `workers.definitions.sentences`. |
| `workers.checks` | `tables`: what `migrate` has yet to do. |
| `workers.desk.operate` | `attention`: whether somebody knows of what holds a process up. |
| `workers.operate` | `retention`, what is pruned: register your own rows. |
| `workers.supervisor.beat_schedule` | The periodic tasks and flow rows, as `migrate` makes them. |
| `workers.runtime.db_connections` | Whether the database can be written to; whether an error is an outage. |
| `workers.runtime.storable_text` | Texts of strangers, without what no database holds. |
| `workers.wire.confirmed` | `ConfirmedConnection`: confirmed messages to queues that are no task's. |
"""  # noqa: E501


def text() -> str:
    import workers

    return HEAD + "".join(_entry(name, getattr(workers, name)) for name in workers.__all__)


#: Names of types have no docstring of their own.
ALIASES = {
    "Condition": (
        "Condition = Callable[[Json, Mapping[str, Json]], bool]",
        "Decides from the process input and the results of settled steps whether a step is done.",
    ),
    "Json": ("Json = dict[str, Any]", "A JSON object: an input, a request or a result."),
}


def _entry(name: str, thing: Any) -> str:
    if name in ALIASES:
        definition, says = ALIASES[name]
        return f"\n## `{name}`\n\n```text\n{definition}\n```\n\n{says}\n"
    kind = "class" if inspect.isclass(thing) else "def"
    says = inspect.getdoc(thing) or ""
    # Of a dataclass without words of its own Python makes the signature up.
    says = "" if says.startswith(f"{name}(") else says
    body = says.replace("``", "`")
    return f"\n## `{name}`\n\n```text\n{kind} {name}{_signature(thing)}\n```\n" + (
        f"\n{body}\n" if body else ""
    )


def _signature(thing: Any) -> str:
    if inspect.isclass(thing) and issubclass(thing, Enum):
        return ": " + ", ".join(member.name for member in thing)
    try:
        found = inspect.signature(thing)
    except (ValueError, TypeError):
        return "()"
    words = [word for one in found.parameters.values() for word in _words(one)]
    kinds = [one.kind for one in found.parameters.values()]
    named = {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}
    if not named.isdisjoint(kinds):
        words.insert(next(at for at, kind in enumerate(kinds) if kind in named), "*")
    line = f"({', '.join(words)})"
    return line if len(line) < 80 else "(\n" + "".join(f"    {word},\n" for word in words) + ")"


def _words(one: inspect.Parameter) -> list[str]:
    for keywords in get_args(one.annotation) if one.kind is one.VAR_KEYWORD else ():
        needed = keywords.__required_keys__
        return [name if name in needed else f"{name}=None" for name in keywords.__annotations__]
    return [f"**{one.name}" if one.kind is one.VAR_KEYWORD else _parameter(one)]


def _parameter(one: inspect.Parameter) -> str:
    default = one.default
    if default is one.empty:
        return one.name
    shown = "..." if callable(default) or " object at 0x" in repr(default) else repr(default)
    if shown.startswith("<") and "." in shown:
        # An enum's member.
        shown = str(getattr(default, "name", default))
    return f"{one.name}={shown}"


if __name__ == "__main__":
    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    PAGE.write_text(text(), encoding="utf-8")
