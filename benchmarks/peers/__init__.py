"""What people would use instead, each as its own documentation has it, on the same servers."""
