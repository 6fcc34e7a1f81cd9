"""What a user of the admin has chosen for themselves."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Preferences(models.Model):
    """How one user of the admin wants it."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="+"
    )
    #: Times are shown in it; empty = in that of the installation.
    time_zone = models.CharField(max_length=64, blank=True, default="", db_default="")
    #: Keys such as j and k do nothing.
    has_no_keys = models.BooleanField(default=False, db_default=False)

    class Meta:
        verbose_name = verbose_name_plural = _("preferences")
        default_permissions = ()

    def __str__(self) -> str:
        return f"preferences of user {self.user_id}"
