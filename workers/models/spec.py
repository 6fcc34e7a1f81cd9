"""What steps have from their declarations."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields
from typing import Any

from django.db import models

from workers.exceptions import MissingSpec
from workers.specs import SpecRow

#: Specs as read, by digest.  Rows never change, and a digest always names the same values.
_known: dict[int, SpecRow] = {}
#: How many are kept.
MOST = 10_000
#: The columns of a spec.
COLUMNS = tuple(field.name for field in fields(SpecRow))


class Spec(models.Model):
    """A spec (``specs.SpecRow``), written once and shared by all steps with the same values.

    Neither unique nor referred to by a constraint: a submission in a long transaction would hold
    up every other with the same new spec.  Processes that meet one at the same instant write a
    row each; any of them is read.
    """

    digest = models.BigIntegerField(db_index=True)
    after = models.JSONField()
    fallbacks = models.JSONField()
    undo = models.JSONField(null=True)
    is_optional = models.BooleanField()
    on_failure = models.CharField(max_length=20)
    wait_seconds = models.PositiveIntegerField()
    delay_seconds = models.PositiveIntegerField()
    is_judged = models.BooleanField()
    unless = models.CharField(max_length=100, blank=True)
    children = models.JSONField(null=True)
    effect = models.CharField(max_length=20)
    key_retention_seconds = models.PositiveIntegerField(null=True)
    total_seconds = models.PositiveIntegerField(null=True)
    timeout_seconds = models.PositiveIntegerField()
    backoff_base_seconds = models.FloatField()
    backoff_cap_seconds = models.FloatField()

    def __str__(self) -> str:
        return f"spec {self.digest}"

    @classmethod
    def of(cls, digests: Iterable[int]) -> Mapping[int, SpecRow]:
        """Return specs by digest; read only those that this process has not read yet.

        Raises ``MissingSpec`` if there is none.
        """
        wanted = set(digests)
        # Taken at once: another thread may clear what is kept.
        found = {digest: spec for digest in wanted if (spec := _known.get(digest)) is not None}
        if missing := wanted - found.keys():
            found |= cls._read(missing)
            if missing := wanted - found.keys():
                raise MissingSpec(sorted(missing))
        return found

    @classmethod
    def one(cls, digest: int, beside: Callable[[], models.QuerySet[Any]]) -> SpecRow:
        """Return a spec; if it has to be read, in one query with those that ``beside`` selects."""
        if digest not in _known:
            cls._read(beside())
        return cls.of([digest])[digest]

    @classmethod
    def _read(cls, digests: Collection[int] | models.QuerySet[Any]) -> dict[int, SpecRow]:
        found = {}
        for row in cls.objects.filter(digest__in=digests).values("digest", *COLUMNS):
            digest = row.pop("digest")
            row |= {"after": tuple(row["after"]), "fallbacks": tuple(row["fallbacks"])}
            found[digest] = SpecRow(**row)
        if len(_known) > MOST:
            _known.clear()
        _known.update(found)
        return found
