"""The page of a demonstration that breaks services, kills processes and shows the incidents.

- ``choices.py`` (the faults that can be chosen, and faults in words)
- ``scene.py`` (the page's content, and the marker by which polls detect a change)
- ``views.py`` (the page, and its two actions)
"""

from django.urls import path

from sasproject.fault_page import views

pages = [
    path("", views.show, name="page"),
    path("switch/", views.switch, name="switch"),
    path("kill/", views.kill, name="kill"),
]
#: In the admin's namespace, whose middleware reveals invisible text and localizes times.
urls = (pages, "admin", "faults")
