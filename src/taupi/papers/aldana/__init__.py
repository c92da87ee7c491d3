"""Aldana, Nuño & Basañez: the regressor of a planar arm of three links in the coordinates of its tip."""
