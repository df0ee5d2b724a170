"""All parties on one machine, to try: the one shelf that knows them all."""
