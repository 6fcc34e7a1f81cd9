"""The columns of the engine's tables, each with its kind in row sets.

Both come from the models, so that code that reads or writes rows need not name kinds.
"""

from collections.abc import Mapping
from functools import cache

from django.db.models import Model

#: Type of a model's field -> kind of ``dialect.rows_as``.
_KINDS = {
    "BigAutoField": "id",
    "BigIntegerField": "id",
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
    """Return every column of a model's table with its kind."""
    return {
        field.attname: _KINDS[field.get_internal_type()] for field in model._meta.concrete_fields
    }
