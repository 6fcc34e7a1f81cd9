"""Commands of operators, and answers from outside."""
