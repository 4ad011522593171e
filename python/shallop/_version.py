"""The version of the package. A command of another version is refused."""

__version__ = "0.1.0"
