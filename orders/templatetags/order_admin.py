"""Template tags of the admin's index."""

from django import template
from django.template import RequestContext

from orders.admin import needs
from orders.admin.needs import Needs

register = template.Library()


@register.simple_tag(takes_context=True)
def what_needs_you(context: RequestContext) -> Needs:
    return needs.read(context["request"])
