"""What holds work back: windows, rates, breakers, holds; which steps are due."""
