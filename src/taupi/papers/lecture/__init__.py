"""A lecture on robot dynamics, part 2: the planar arm of two point masses."""
