"""Robot formats, one file each. `FORMATS` tells `taupi.load` which module reads files with which ending."""

# Each module has `read(path, **options) -> Robot`.
FORMATS: dict[str, str] = {
    ".urdf": "taupi.model.formats.urdf",
    ".xml": "taupi.model.formats.mjcf",
    ".mjcf": "taupi.model.formats.mjcf",
    ".xacro": "taupi.model.formats.xacro",
    ".sdf": "taupi.model.formats.sdf",
    ".usd": "taupi.model.formats.usd",
    ".usda": "taupi.model.formats.usd",
    ".usdc": "taupi.model.formats.usd",
    ".usdz": "taupi.model.formats.usd",
    ".toml": "taupi.model.formats.toml",
}
