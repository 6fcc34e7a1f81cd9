"""How long the admin's pages take on a large database, and how many queries each asks."""
