"""A project of its own, whose database connections may live as long as their process."""

import os

import environ

SECRET_KEY = "benchmark"
USE_TZ = True
INSTALLED_APPS = ["benchmarks.peers.naive"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
_DATABASE = environ.Env.db_url_config(os.environ["DATABASE_URL"])
if "sqlite" in _DATABASE["ENGINE"]:
    _DATABASE["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
DATABASES = {"default": {**_DATABASE, "CONN_MAX_AGE": 600}}
