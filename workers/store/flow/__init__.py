"""Flow control: windows, rates, breakers and holds; which steps are due."""
