"""Who answers, who is honest, and what users hold: what every protocol asks of its users."""
