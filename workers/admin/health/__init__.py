"""How the installation fares: the health page, the strip on the front page, the doctor's page."""

from workers.admin.health import doctor_page, page

__all__ = ["doctor_page", "page"]
