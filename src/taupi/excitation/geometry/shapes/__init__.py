"""The collision geometry of a description: capsules where a shape is a capsule, and triangles otherwise."""
