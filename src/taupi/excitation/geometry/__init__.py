"""What a robot takes up in space, and how far it stays from itself and its surroundings.

`meshes` reads triangles, `shapes` the collision geometry of a description, `capsules` encloses it; `clearance.py` holds
distances, rows and the certificate together.
"""
