"""What a charge costs: prices of mechanisms, and Renyi divergences as costs."""
