"""Triangles of mesh files, one module per format. `FORMATS` is the table in which `read_triangles` looks up the reader.

A format is a module with `triangles(data, place)`, from the bytes of a file to an array (m, 3, 3) of corners; `place` names the
file in errors. Formats that are not in the table are left to the package trimesh, if that is installed.
"""

FORMATS = {".stl": "taupi.excitation.geometry.meshes.stl", ".obj": "taupi.excitation.geometry.meshes.obj"}
