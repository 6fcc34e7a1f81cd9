"""What a new column needs, and no other test would say: see who it is about, keep the triggers."""

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import CharField, JSONField, TextField

from workers.privacy import erase

#: Texts and documents of a process in which nothing personal can stand: names out of the code,
#: states, keys and users of ours.
IMPERSONAL = {
    "Attribute": "name",
    "Process": "workflow state no_return outcome on_deadline renews editable",
    "Step": "name state agent locked_by idempotency_key",
    "Alert": "cause code",
    "Child": "state outcome",
    "Journal": "event before after actor",
    "Sink": "kind address owner correlation_id state",
    "UndoRequest": "verb step state undo asked_by decided_by",
}
#: What erasing changes by itself, beside the columns that it names.
OF_THE_PROCESS = {"input", "subject", "submission_key", "lane", "limit_values", "exclusive"}


def test_each_text_of_a_process_is_erased_or_impersonal():
    """A column that fails here may hold a person's data: erase it, and mask it where it is shown.

    Erasing names its columns in ``_PARTS`` (``workers/privacy/erase.py``), masking in
    ``workers/desk/admin/masking.py``.
    """
    erased = {model.__name__: {*columns} for model, columns in erase._PARTS}
    erased["Process"] = OF_THE_PROCESS
    # With the attributes of which they are made.
    erased["Step"] |= {"limit_key"}
    # Its row is deleted.
    erased["Attribute"] = {"value"}
    for model in apps.get_app_config("workers").get_models():
        names = {field.name for field in model._meta.get_fields()}
        if model._meta.proxy or not (model.__name__ == "Process" or "process" in names):
            continue
        kinds = CharField | TextField | JSONField
        texts = {field.name for field in model._meta.concrete_fields if isinstance(field, kinds)}
        known = erased[model.__name__] | {*IMPERSONAL[model.__name__].split()}
        assert texts == known, model.__name__


@pytest.mark.django_db
def test_migrations_leave_the_triggers_of_steps():
    """SQLite creates a changed table anew, without its triggers: steps would not be found.

    A migration that changes a column of steps executes ``keepers("sqlite")`` afterwards
    (``workers/migrations/_live_steps.py``).
    """
    tables = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s",
        "postgresql": "SELECT tgname FROM pg_trigger WHERE tgrelid = CAST(%s AS regclass)"
        " AND NOT tgisinternal",
    }
    with connection.cursor() as cursor:
        cursor.execute(tables[connection.vendor], ["workers_step"])
        names = {name for (name,) in cursor.fetchall()}
    assert names >= {f"workers_live_{event}" for event in ("inserted", "updated", "deleted")}
