"""Model files: one file each, JSON and tensors, no pickle."""

from pinakes.storage.model import load, save

__all__ = ["load", "save"]
