"""What the shop's pages ask for themselves."""

from django import template
from django.conf import settings

register = template.Library()


@register.simple_tag
def is_demonstration() -> bool:
    """Say whether only this machine is answered, so that no service behind the shop is real."""
    return bool(settings.DEMO_LOGINS)
