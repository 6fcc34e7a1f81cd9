"""Writes saved views.  No process changes, so nothing of it is in the journal."""

from datetime import datetime

from django.db import IntegrityError

from workers.desk.models import SavedView
from workers.desk.models.saved_view import LONGEST_NAME
from workers.exceptions import StateError
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.store.db import dialect


def save(
    owner_id: int,
    of_list: str,
    name: str,
    query: str,
    *,
    is_shared: bool = False,
    now: datetime | None = None,
) -> None:
    """Save a view of a list, replacing the owner's view of that list and name."""
    storable_text.check("name", name, LONGEST_NAME)
    storable_text.check("query", query)
    with durable("saved_views.save"):
        view = SavedView(
            owner_id=owner_id,
            of_list=of_list,
            name=name,
            query=query,
            is_shared=is_shared,
            created_at=dialect.read_clock(now),
        )
        # One statement: of two who save at once, neither fails.
        SavedView.objects.bulk_create(
            [view],
            update_conflicts=True,
            unique_fields=["owner", "of_list", "name"],
            update_fields=["query", "is_shared", "created_at"],
        )


def change(view_id: int, name: str, *, is_shared: bool) -> bool:
    """Rename a view, and share or unshare it.  False: it is gone.

    Raises ``StateError``, and changes nothing, if its owner has another view of that name.
    """
    storable_text.check("name", name, LONGEST_NAME)
    try:
        with durable("saved_views.change"):
            rows = SavedView.objects.filter(pk=view_id)
            return bool(rows.update(name=name, is_shared=is_shared))
    except IntegrityError:
        raise StateError(
            f"A view must have a name of its own in its list, got {name!r}. Choose another."
        ) from None


def delete(view_id: int) -> bool:
    """Delete a view.  False: it is gone already."""
    with durable("saved_views.delete"):
        return bool(SavedView.objects.filter(pk=view_id).delete()[0])
