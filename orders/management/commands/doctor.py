"""`manage.py sas doctor` as a command of the shop, as the shop's pages call it."""

from workers.ops.management.nouns.doctor import Command

__all__ = ["Command"]
