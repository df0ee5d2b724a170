"""Groups, PostgreSQL, load and endurance."""
