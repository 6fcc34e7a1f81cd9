"""The columns of the engine's tables, each with the kind by which row sets know it.

The models say both; who reads or writes a row names columns and no kinds.
"""

from collections.abc import Mapping
from functools import cache

from django.db.models import Model

#: Type of a model's field -> kind of ``dialect.rows_as``.
_KINDS = {
    "BigAutoField": "id",
    "BooleanField": "bool",
    "CharField": "text",
    "DateTimeField": "instant",
    "FloatField": "float",
    "ForeignKey": "id",
    "JSONField": "json",
    "PositiveIntegerField": "int",
    "PositiveSmallIntegerField": "int",
    "UUIDField": "uuid",
}


@cache
def columns_of(model: type[Model]) -> Mapping[str, str]:
    """Return every column of a model's table, and its kind."""
    return {
        field.attname: _KINDS[field.get_internal_type()] for field in model._meta.concrete_fields
    }
