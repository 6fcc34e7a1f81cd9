"""The settings of a company with habits of its own; DEFAULT_AUTO_FIELD is not among them."""

import os
from pathlib import Path
from urllib.parse import urlsplit

BASE_DIR = Path(__file__).resolve().parents[1]
SECRET_KEY = "for-this-test-alone" * 4
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1", "testserver"]
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "people",
    "workers",
    "workers.ops",
    "workers.desk",
    "django_celery_beat",
    "acme",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
ROOT_URLCONF = "acme.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
if os.environ.get("ACME_FORGETS") == "engine":
    ENGINE = ("workers", "workers.ops", "workers.desk", "django_celery_beat")
    INSTALLED_APPS = [app for app in INSTALLED_APPS if app not in ENGINE]
if os.environ.get("ACME_LOOKS") == "unfold":
    INSTALLED_APPS = ["unfold", *INSTALLED_APPS]
_DATABASE = urlsplit(os.environ["ACME_DATABASE"])
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _DATABASE.path.strip("/"),
        "USER": _DATABASE.username,
        "PASSWORD": _DATABASE.password or "",
        "HOST": _DATABASE.hostname,
        "PORT": _DATABASE.port,
        "OPTIONS": {
            "tcp_user_timeout": 30000,
            "options": "-c statement_timeout=15000 -c lock_timeout=5000"
            " -c idle_in_transaction_session_timeout=30000",
        },
    }
}
AUTH_USER_MODEL = "people.Person"
LANGUAGE_CODE = "fi"
TIME_ZONE = "Europe/Helsinki"
USE_TZ = True
STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"},
}

CELERY_BROKER_URL = os.environ["ACME_BROKER"]
# Everything of the company's own goes by these routes, pickled, and keeps its results.
CELERY_TASK_DEFAULT_QUEUE = "acme.default"
CELERY_TASK_ROUTES = {"*": {"queue": "acme.default"}}
CELERY_TASK_SERIALIZER = "pickle"
CELERY_ACCEPT_CONTENT = ["json", "pickle"]
CELERY_RESULT_BACKEND = f"file://{BASE_DIR / 'results'}"
CELERY_RESULT_SERIALIZER = "pickle"
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_TIME_LIMIT = 60
SILENCED_SYSTEM_CHECKS = ["workers.W002", "workers.W003", "workers.W013"]
