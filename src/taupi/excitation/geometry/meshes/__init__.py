"""Triangles of mesh files, a file per format. `FORMATS` is the table in which `read_triangles` looks for who can read one.

A format is a module with `triangles(data, place)`, from the bytes of a file to an array (m, 3, 3) of corners; `place` names the
file in errors. What is not in the table is left to the package trimesh, where that is installed.
"""

FORMATS = {".stl": "taupi.excitation.geometry.meshes.stl", ".obj": "taupi.excitation.geometry.meshes.obj"}
