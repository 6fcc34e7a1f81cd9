"""How the installation fares: the health page, the strip on the front page, the doctor's page."""

from workers.desk.admin.health import doctor_page, page

__all__ = ["doctor_page", "page"]
