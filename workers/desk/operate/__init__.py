"""What the desk does for operators, beside its pages."""
