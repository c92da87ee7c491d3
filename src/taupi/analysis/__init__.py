"""What is worked out about a robot: bounds, properties, singularity, ellipses."""
