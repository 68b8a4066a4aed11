"""Model files: one file each, JSON and tensors, no pickle."""

from pinakes.storage.model import load, origin, save

__all__ = ["load", "origin", "save"]
