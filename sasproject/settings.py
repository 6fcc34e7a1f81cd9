"""Django and Celery settings, everything from the environment.

Embedded default: SQLite and a file-based broker in ``SAS_RUN_DIR``, so that the
commands work on a machine with nothing but Python.  Production: PostgreSQL and
RabbitMQ through ``DATABASE_URL`` and ``BROKER_URL``.
"""

import warnings
from datetime import timedelta
from pathlib import Path

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from sasproject import brokers, databases, logs, loopback, run_folder
from sasproject.variables import Variables, refused

env = Variables()
BASE_DIR = Path(__file__).resolve().parent.parent

RUN_DIR = Path(env.str("SAS_RUN_DIR", default=str(BASE_DIR / ".run"))).resolve()
# DEBUG is on by default: a fresh clone must run without any setting.  It is harmless, because
# then, as in the loopback-only mode of `stack` and `demo`, only loopback host names are served.
LOOPBACK_ONLY: bool = env.bool("DJANGO_LOOPBACK_ONLY", default=False)
DEBUG: bool = env.bool("DJANGO_DEBUG", default=not LOOPBACK_ONLY)
if DEBUG and LOOPBACK_ONLY:
    raise ImproperlyConfigured(
        "DJANGO_DEBUG and DJANGO_LOOPBACK_ONLY are both on, and loopback-only means DEBUG off. "
        "Unset one of them."
    )
IS_LOCAL = DEBUG or LOOPBACK_ONLY
DATABASE_URL = env.str("DATABASE_URL", default=f"sqlite:///{RUN_DIR / 'db.sqlite3'}")
BROKER_URL = env.str("BROKER_URL", default="")
EMAIL_URL = env.str("EMAIL_URL", default=f"filemail:///{RUN_DIR / 'mail'}")
WRITABLE = "Set it to a folder that this user may write."
# With servers for all three no folder is needed: a container's disk may be read-only.
if IS_LOCAL or run_folder.is_needed(DATABASE_URL, BROKER_URL, EMAIL_URL):
    with refused("SAS_RUN_DIR", WRITABLE):
        run_folder.make(RUN_DIR)
SECRET_KEY = env.str("DJANGO_SECRET_KEY", default="")
ALLOWED_HOSTS = env.list("DJANGO_ALLOWED_HOSTS", default=[])
if IS_LOCAL:
    ALLOWED_HOSTS = loopback.hosts(
        ALLOWED_HOSTS, mode="DJANGO_DEBUG" if DEBUG else "DJANGO_LOOPBACK_ONLY"
    )
    with refused("SAS_RUN_DIR", WRITABLE):
        SECRET_KEY = SECRET_KEY or loopback.secret_key(RUN_DIR)
else:
    SECRET_KEY = loopback.check_secret_key(SECRET_KEY)
SECRET_KEY_FALLBACKS = loopback.check_old_keys(env.str("DJANGO_SECRET_KEY_FALLBACKS", default=""))
# Whether accounts whose password is their name may exist.
DEMO_LOGINS = IS_LOCAL
# Whether the admin has the page that breaks services and kills processes.
FAULT_PAGE = IS_LOCAL
CSRF_FAILURE_VIEW = "orders.views.pages.forged"
CSRF_TRUSTED_ORIGINS = env.list("DJANGO_CSRF_TRUSTED_ORIGINS", default=[])

INSTALLED_APPS = [
    "sasproject",
    "orders",
    "workers",
    "workers.ops",
    "workers.desk",
    "django_celery_beat",
    "csp",
    "axes",
    # For the assets of the API's page.
    "ninja",
    # Its modules are discovered by the addresses: a worker loads no page.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
]
MIDDLEWARE = [
    "sasproject.middleware.NoBodyToHead",
    "sasproject.middleware.RetryAfter",
    "django.middleware.security.SecurityMiddleware",
    # Before WhiteNoise, so that files have the headers too: a browser runs a script in an SVG.
    "csp.middleware.CSPMiddleware",
    "django_permissions_policy.PermissionsPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # Before any middleware that checks the host name.
    "workers.views.probes.Probes",
    "workers.ops.metrics.view.Metrics",
    # Files and probes are not logged.
    "sasproject.access_log.AccessLog",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "workers.desk.admin.middleware.VisibleText",
    "workers.desk.admin.middleware.ViewerTimeZone",
    "workers.desk.admin.middleware.Navigation",
    # Last: it replaces the answer to a login after too many failures.
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "sasproject.urls"
WSGI_APPLICATION = "sasproject.wsgi.application"
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

DATABASES = {"default": databases.configure(DATABASE_URL)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
# axes counts failed logins before a password is checked; passwords and permissions are Django's.
AUTHENTICATION_BACKENDS = ["axes.backends.AxesBackend", "django.contrib.auth.backends.ModelBackend"]
BEHIND_PROXY = env.bool("DJANGO_BEHIND_PROXY", default=False)
# By name and address together, so that knowing a name is not enough to lock its owner out.
# The handler also counts an address's failures under many names.
AXES_HANDLER = "orders.logins.guessing.Handler"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_CLIENT_IP_CALLABLE = "sasproject.visitors.address_of"
AXES_LOCKOUT_CALLABLE = "orders.logins.lockout.show"
# Only rows of failed logins; unlock with `manage.py axes_reset_username`.
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
# Log addresses but no names, because people type passwords into the name's field.
AXES_SENSITIVE_PARAMETERS = ["username"]
LOGIN_URL, LOGIN_REDIRECT_URL = "admin:login", "admin:index"

# The shop's path if it is not the root of its host; gunicorn reads the same variable.
FORCE_SCRIPT_NAME = env.str("SCRIPT_NAME", default="").rstrip("/") or None
prefix = f"{FORCE_SCRIPT_NAME or ''}/".removeprefix("/")

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = not IS_LOCAL
SECURE_REDIRECT_EXEMPT = [rf"^{prefix}(livez|readyz|metrics)$"]
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
# Not Strict: pages that our mails link to need the session.
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_HSTS_SECONDS = 0 if IS_LOCAL else 31_536_000
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = not IS_LOCAL
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_PROXY else None
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Everything is loaded from this host, and nothing is inline.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}
PERMISSIONS_POLICY: dict[str, list[str]] = {
    "camera": [],
    "display-capture": [],
    "geolocation": [],
    "microphone": [],
    "payment": [],
    "usb": [],
}

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = f"{FORCE_SCRIPT_NAME or ''}/static/"
STATIC_ROOT = env.str("DJANGO_STATIC_ROOT", default=str(RUN_DIR / "static"))
# Without collectstatic (development, demo) the files are served from the apps themselves.
WHITENOISE_USE_FINDERS = True
# If they must be collected, sasproject.E003 and the doctor report it with the remedy.
warnings.filterwarnings("ignore", message="No directory at", category=UserWarning)
if not IS_LOCAL:
    # Compressed, and cached for ever under names that change with the content.
    STORAGES = {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        "staticfiles": {"BACKEND": "sasproject.static_files.CollectedFiles"},
    }

with refused("EMAIL_URL", "Give one such as smtp+tls://user:password@host:587."):
    EMAIL_CONFIG = env.email_url_config(EMAIL_URL)
vars().update(EMAIL_CONFIG)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="shop@localhost")

LOGGING_CONFIG = None
logs.configure(
    json=env.bool("SAS_LOG_JSON", default=not DEBUG), level=env.str("SAS_LOG_LEVEL", default="INFO")
)

# The base of links in mails, never taken from a request, whose Host header can be forged.
SHOP_URL = env.http_url("SHOP_URL", default=loopback.shop_url(ALLOWED_HOSTS, is_local=IS_LOCAL))

SANDBOX_URL = env.http_url("SANDBOX_URL", default="http://127.0.0.1:8900")

# Trust RabbitMQ's user-id as the sender: only if every client has a login of its own.
SUBMISSIONS_TRUST_USER_ID = env.bool("SUBMISSIONS_TRUST_USER_ID", default=False)

if LOOPBACK_ONLY:
    # The demonstration's webhook receivers run on this machine.
    SAS_WEBHOOK_PRIVATE_ADDRESSES = env.bool("SAS_WEBHOOK_PRIVATE_ADDRESSES", default=True)
    # Intended here: no https, no secure cookies, and a broker on this machine only.
    SILENCED_SYSTEM_CHECKS = [
        *("security.W004", "security.W008", "security.W012", "security.W016"),
        "workers.W005",
    ]

# Celery.  Reliability comes from the rows; these settings keep messages cheap.
CELERY_BROKER_URL, CELERY_BROKER_TRANSPORT_OPTIONS = brokers.configure(BROKER_URL, RUN_DIR)
# workers.celery.install adds the engine's queues and other settings that it needs.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_RESULT_BACKEND = None
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# Celery would log every write to stderr separately, and Python writes tracebacks in pieces.
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_WORKER_ENABLE_REMOTE_CONTROL = env.bool("CELERY_REMOTE_CONTROL", default=DEBUG)
CELERY_WORKER_MAX_TASKS_PER_CHILD = 20_000
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 400_000
# Also for the consumer of submissions, which does not use Celery.
CELERY_BROKER_CONNECTION_TIMEOUT = 3
CELERY_BROKER_HEARTBEAT = 30
CELERY_TIMEZONE = "UTC"
CELERY_ENABLE_UTC = True
