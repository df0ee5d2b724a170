"""The noise laws, one a file: a law's file holds all that the house knows of it."""
