"""Settings of the test run: the project's own, in a run folder that goes with it."""

import os
import tempfile

# Before the project's settings are read, because they make the run folder.
_folder = tempfile.TemporaryDirectory(prefix="sas-test-")
os.environ["SAS_RUN_DIR"] = _folder.name
os.environ.setdefault("SAS_LOG_LEVEL", "WARNING")

from sasproject.settings import *  # noqa: E402, F403

# No test meets services that run on this machine for something else: the default port is theirs.
SANDBOX_URL = "http://127.0.0.1:1"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
INSTALLED_APPS = [*INSTALLED_APPS, "tests.toyflow"]  # noqa: F405
# Else each client of a test lists every static file there is.
WHITENOISE_AUTOREFRESH = True
# WhiteNoise warns of a folder that `collectstatic` has not made yet.
(RUN_DIR / "static").mkdir()  # noqa: F405
if "sqlite" in DATABASES["default"]["ENGINE"]:  # noqa: F405
    # A file, as in real life: threads of one test meet the locks that processes would meet.
    DATABASES["default"]["TEST"] = {"NAME": str(RUN_DIR / "test.sqlite3")}  # noqa: F405
