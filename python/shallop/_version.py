"""The version: that of the command, which is checked whenever it is started."""

__version__ = "0.1.0"
