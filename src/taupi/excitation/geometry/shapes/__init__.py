"""The collision geometry of a description: capsules, where a shape is one, and triangles, where it is not."""
