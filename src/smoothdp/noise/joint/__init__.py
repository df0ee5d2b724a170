"""Laws of several numbers at once, a file each with its proof and its exact sampler."""
