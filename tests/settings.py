"""Settings of the test run: the project's own, in a run folder of its own."""

import os
import tempfile

# Before the project's settings are read: they make the run folder.
os.environ["SAS_RUN_DIR"] = os.environ.get("SAS_TEST_RUN_DIR") or tempfile.mkdtemp(
    prefix="sas-test-"
)
os.environ.setdefault("SAS_LOG_LEVEL", "WARNING")

from sasproject.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
INSTALLED_APPS = [*INSTALLED_APPS, "tests.toyflow"]  # noqa: F405
if "sqlite" in DATABASES["default"]["ENGINE"]:  # noqa: F405
    # A file, as in real life: threads of one test meet the locks that processes would meet.
    DATABASES["default"]["TEST"] = {"NAME": str(RUN_DIR / "test.sqlite3")}  # noqa: F405
