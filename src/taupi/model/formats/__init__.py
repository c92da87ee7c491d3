"""Robot formats, one file each. `FORMATS` tells `taupi.load` which module reads files with which ending."""

# Each module has `read(path, **options) -> Robot`.
FORMATS: dict[str, str] = {
    ".urdf": "taupi.model.formats.urdf",
    ".xml": "taupi.model.formats.mjcf",
    ".mjcf": "taupi.model.formats.mjcf",
    ".xacro": "taupi.model.formats.xacro",
    ".toml": "taupi.model.formats.toml",
}
