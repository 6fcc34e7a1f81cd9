"""Lists as users of the admin save them: filters and order, under a name."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

LONGEST_NAME = 80


class SavedView(models.Model):
    """One list of the admin with its filters: its owner's, or shared with all who may see it."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("owner"),
        on_delete=models.CASCADE,
        related_name="+",
        # The constraint's index begins with it.
        db_index=False,
    )
    #: ``app.model`` of the list's rows.
    of_list = models.CharField(_("list"), max_length=100)
    name = models.CharField(_("name"), max_length=LONGEST_NAME)
    #: The part of the list's query string that a view keeps (``rules.saved_views``).
    query = models.TextField(_("narrowed by"))
    is_shared = models.BooleanField(
        _("shared"),
        default=False,
        help_text=_("Everybody who may see the list sees this view above it."),
    )
    created_at = models.DateTimeField(_("saved"))

    class Meta:
        ordering = ["of_list", "name", "id"]
        verbose_name = _("saved view")
        verbose_name_plural = _("saved views")
        # Everybody may change their own views; these permissions are for shared ones.
        default_permissions = ("change", "delete")
        constraints = [
            models.UniqueConstraint(
                name="saved_view_named_once", fields=["owner", "of_list", "name"]
            )
        ]
        indexes = [
            models.Index(
                name="saved_view_shared_idx",
                fields=["of_list", "name"],
                condition=models.Q(is_shared=True),
            )
        ]

    def __str__(self) -> str:
        return self.name
