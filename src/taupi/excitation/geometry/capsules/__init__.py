"""Capsules that enclose by construction: one around points, several around cut triangles, cached on disk."""
