"""Template tags of the admin's index and of the shop's own pages."""

from django import template
from django.template import RequestContext
from django.utils.safestring import SafeString

from orders.admin import dead_letter, needs
from orders.admin.needs import Needs
from orders.letter_groups import Group
from orders.models import DeadLetter

register = template.Library()


@register.simple_tag(takes_context=True)
def what_needs_you(context: RequestContext) -> Needs:
    return needs.read(context["request"], *needs.look())


@register.filter
def sender_mark(letter: DeadLetter | Group) -> SafeString | str:
    return dead_letter.sender_mark(letter)


@register.simple_tag
def unproven_mark() -> SafeString:
    return dead_letter.unproven_mark()
