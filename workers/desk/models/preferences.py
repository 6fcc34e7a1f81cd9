"""The preferences of the admin's users."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Preferences(models.Model):
    """The preferences of one user of the admin."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="+"
    )
    #: Time zone in which times are shown; empty = the installation's.
    time_zone = models.CharField(max_length=64, blank=True, default="", db_default="")
    #: Keyboard shortcuts such as j and k are off.
    has_no_keys = models.BooleanField(default=False, db_default=False)

    class Meta:
        verbose_name = verbose_name_plural = _("preferences")
        default_permissions = ()

    def __str__(self) -> str:
        return f"preferences of user {self.user_id}"
