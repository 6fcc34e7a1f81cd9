"""Static files in production: compressed, under names that change with their content."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class CollectedFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # no types
    """Serves files that were not collected from their apps, under their plain names."""

    def stored_name(self, name: str) -> str:
        try:
            return str(super().stored_name(name))
        except ValueError:
            return name
