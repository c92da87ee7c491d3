"""The space that a robot occupies, and how far it stays from itself and its surroundings.

`meshes` reads triangles, `shapes` the collision geometry of a description, `capsules` encloses it; `clearance.py` brings
together distances, rows and the certificate.
"""
