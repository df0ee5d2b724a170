"""Local and smooth sensitivity of the mean of a window: the maximiser over distances, exactly."""
