"""What differs between a fit and a later log of the same robot: a payload, friction that has changed."""
