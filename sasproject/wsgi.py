"""The WSGI entry point: `gunicorn sasproject.wsgi`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasproject.settings")
application = get_wsgi_application()
