"""The claims, a file each, and how they convert and imply one another."""
