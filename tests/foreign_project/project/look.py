"""Ask for the admin's pages as a person does; print the status of each."""

import os
import re

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "acme.settings")
django.setup()

from django.contrib.staticfiles.storage import staticfiles_storage  # noqa: E402
from django.test import Client  # noqa: E402
from people.models import Person  # noqa: E402

from workers.models import Process  # noqa: E402

person = Person.objects.first() or Person.objects.create_superuser("ann@acme.example", "secret")
client = Client()
client.force_login(person)
process = Process.objects.first()
for address in (
    "/admin/",
    "/admin/workers/process/",
    f"/admin/workers/process/{process.pk}/change/",
    "/admin/workers/process/waiting/",
    "/admin/workers/process/causes/",
    "/admin/workers/flow/",
    "/admin/workers/alert/",
    "/admin/workers/lease/",
):
    response = client.get(address)
    text = response.content.decode()
    missing = [
        source
        for source in re.findall(r'(?:src|href)="/static/([^"]+)"', text)
        if not staticfiles_storage.exists(source)
    ]
    print(response.status_code, len(missing), address)

response = client.post("/sas/callbacks/nobody", b'{"result": {}}', content_type="application/json")
print("callback", response.status_code, response.json()["code"])
response = client.post("/sas/webhooks/nobody", b"{}", content_type="application/json")
print("webhook", response.status_code, response.json()["code"])
