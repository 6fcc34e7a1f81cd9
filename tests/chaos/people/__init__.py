"""People and programs who meddle while orders are under way: operators, clients, services."""

from tests.chaos.people.people import People

__all__ = ["People"]
