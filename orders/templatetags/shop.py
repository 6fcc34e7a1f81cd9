"""Template tags of the shop's pages."""

from django import template
from django.conf import settings

register = template.Library()


@register.simple_tag
def is_demonstration() -> bool:
    """Say whether this is the local demonstration, whose services are simulated."""
    return bool(settings.DEMO_LOGINS)
