"""One step of training with quantised gradients: bounds, words, views."""
