"""What graphs hold, what none may, and captures written around what they can."""
