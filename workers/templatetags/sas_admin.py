"""Template filters of the admin's pages: the markup of ``workers.admin.marks``."""

from datetime import datetime

from django import template
from django.utils.safestring import SafeString

from workers.admin import icons, marks

register = template.Library()


@register.filter
def state_mark(name: str) -> SafeString:
    return marks.state(name)


@register.filter
def icon(name: str) -> SafeString:
    return icons.icon(name)


@register.filter
def instant(at: datetime | None) -> SafeString | str:
    return marks.instant(at)


@register.filter
def worker(name: str | None) -> SafeString | str:
    return marks.worker(name)


@register.filter
def age_at(at: datetime | None, now: datetime) -> SafeString | str:
    return marks.age(at, now)
