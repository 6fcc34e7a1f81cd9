"""What an application knows a process by."""

from django.db import models

from workers.models.process import Process


class Attribute(models.Model):
    """One attribute of a process, as its workflow declares it: never changed, only deleted.

    The value is the text by which it is found (``definitions.attributes``).
    """

    pk = models.CompositePrimaryKey("process", "name")
    process = models.ForeignKey(
        Process, on_delete=models.CASCADE, related_name="attributes", db_index=False
    )
    name = models.CharField(max_length=50)
    value = models.CharField(max_length=200)

    class Meta:
        indexes = [
            # The processes of a value, the newest first.  Compared byte by byte, whatever the
            # database's language.
            models.Index(
                name="attribute_value_idx",
                fields=["name", "value", "process"],
                opclasses=["varchar_ops", "varchar_pattern_ops", "int8_ops"],
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name}={self.value}"
