"""Template tags for pages of a demonstration."""

from django import template
from django.conf import settings

register = template.Library()


@register.simple_tag
def has_fault_page() -> bool:
    """Say whether the fault page exists."""
    return bool(settings.FAULT_PAGE)
