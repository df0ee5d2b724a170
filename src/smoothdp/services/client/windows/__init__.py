"""A user's client of esa/2: stores before it sends, asks the issuer, hands in, looks itself up."""
