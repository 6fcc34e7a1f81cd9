"""The engine's own views, as ``workers.urls`` gives them to any project."""
