"""Personal data in a terminal: masked as in the admin; showing it is journalled."""

import argparse
from typing import Any

from django.db.models import Model

from workers.desk.admin.masking import UNMASKED, Mask
from workers.management.terminal import actor
from workers.store import journal


def add_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option that shows personal data."""
    parser.add_argument(
        "--personal",
        dest="is_personal",
        action="store_true",
        help="show personal data, too; the journal keeps that you did",
    )


def mask_or_show(row: Model, mask: Mask, options: dict[str, Any], process_id: int | None) -> Mask:
    """Return the mask of a row; with ``--personal``, journal that and return no mask."""
    if not options.get("is_personal"):
        return mask
    what = f"{row._meta.label_lower}:{row.pk}"
    journal.record_act("personal_shown", {"what": what}, actor=actor(), process_id=process_id)
    return UNMASKED
