"""Robot formats, a file each. `FORMATS` is the table that `taupi.load` looks up a path's ending in."""

FORMATS: dict[str, str] = {
    ".urdf": "taupi.model.formats.urdf",
    ".xml": "taupi.model.formats.mjcf",
    ".mjcf": "taupi.model.formats.mjcf",
    ".toml": "taupi.model.formats.toml",
}
