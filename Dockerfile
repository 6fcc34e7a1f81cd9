# The shop: one image for every process of it; compose.yaml and deploy/kubernetes say which is which.
ARG PYTHON=3.11

FROM python:${PYTHON}-slim-bookworm AS build
WORKDIR /srv/shop
RUN python -m venv /opt/shop
COPY requirements.txt ./
RUN /opt/shop/bin/python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.txt
COPY manage.py gunicorn.conf.py ./
COPY workers workers/
COPY orders orders/
COPY sasproject sasproject/
# Static files need no database; this key signs nothing.
RUN DJANGO_DEBUG=off DJANGO_ALLOWED_HOSTS=localhost DJANGO_STATIC_ROOT=/srv/shop/static \
    DJANGO_SECRET_KEY="$(python -c 'import secrets; print(secrets.token_urlsafe(60))')" SAS_RUN_DIR=/tmp/build \
    /opt/shop/bin/python manage.py collectstatic --no-input \
    && /opt/shop/bin/python -m compileall -q workers orders sasproject

FROM python:${PYTHON}-slim-bookworm
# Process 1 hears no signal before it has asked for it, and Celery takes a second to.
RUN apt-get update && apt-get install -y --no-install-recommends tini \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin shop
WORKDIR /srv/shop
COPY --from=build /opt/shop /opt/shop
COPY --from=build /srv/shop /srv/shop
ENV PATH=/opt/shop/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    DJANGO_DEBUG=off \
    DJANGO_STATIC_ROOT=/srv/shop/static
USER 10001
EXPOSE 8000
ENTRYPOINT ["tini", "--"]
CMD ["gunicorn", "sasproject.wsgi", "--bind", "0.0.0.0:8000", "--workers", "2"]
