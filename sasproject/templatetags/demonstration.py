"""What pages of a demonstration have, and others do not."""

from django import template
from django.conf import settings

register = template.Library()


@register.simple_tag
def has_fault_page() -> bool:
    """Say whether there is a page that breaks things."""
    return bool(settings.FAULT_PAGE)
