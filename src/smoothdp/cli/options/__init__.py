"""What commands share: groups of options, the files they name, and how they are read."""
