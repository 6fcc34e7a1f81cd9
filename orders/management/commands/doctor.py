"""`manage.py sas doctor` as a command of the shop, as the shop's pages call it."""

from workers.desk.management.nouns.doctor import Command

__all__ = ["Command"]
