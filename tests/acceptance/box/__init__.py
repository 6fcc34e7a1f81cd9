"""An app of awkward agents, which real workers load: slow ones, and one that kills its process."""
