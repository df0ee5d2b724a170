"""Commands about a collection between parties: its services, and those who take part."""
