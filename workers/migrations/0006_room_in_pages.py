"""Leave room in the pages of processes on PostgreSQL, for the changes of their rows."""

from django.db import migrations

#: Pages are filled to so many percent by new rows; what is left takes what they are changed to,
#: and a row that stays on its page and changes nothing indexed needs no new entry in an index.
FILL_PERCENT = 60


def leave_room(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"ALTER TABLE workers_process SET (fillfactor = {FILL_PERCENT})")


def fill_up(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("ALTER TABLE workers_process RESET (fillfactor)")


class Migration(migrations.Migration):
    dependencies = [("workers", "0005_retention")]

    operations = [migrations.RunPython(leave_room, fill_up)]
