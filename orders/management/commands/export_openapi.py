"""Writes the description of the HTTP API into the docs."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings

from orders.api import api
from workers.management.terminal import TerminalCommand


class Command(TerminalCommand):
    help = "Writes docs/reference/openapi.json; a test compares it with the code."

    def handle(self, **options: Any) -> None:
        path = Path(settings.BASE_DIR) / "docs" / "reference" / "openapi.json"
        text = json.dumps(api.get_openapi_schema(), default=str, indent=2, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
        self.stdout.write(f"Written to {path.relative_to(settings.BASE_DIR)}.")
