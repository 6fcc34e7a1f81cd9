"""The page of a demonstration that breaks services, kills processes and shows what comes of it.

- ``choices.py`` (what a service can be told to do wrong, and what it does, in words)
- ``scene.py`` (what the page shows, and the marker by which a poll asks whether it is new)
- ``views.py`` (the page, and its two acts)
"""

from django.urls import path

from sasproject.fault_page import views

pages = [
    path("", views.show, name="page"),
    path("switch/", views.switch, name="switch"),
    path("kill/", views.kill, name="kill"),
]
#: Pages of an admin: what others wrote is made visible there, and times are the viewer's.
urls = (pages, "admin", "faults")
