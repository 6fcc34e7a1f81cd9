"""Look over the shop: `manage.py sas doctor` under the name that its pages begin with."""

from workers.desk.management.nouns.doctor import Command

__all__ = ["Command"]
