"""Claims: finding work, claiming it, starting it, giving it back."""
