"""What people look at: maps of documents, as pictures and as a page."""

from pinakes.plots.map import Branch, DocumentMap, View, make_map
from pinakes.plots.map_page import write_page
from pinakes.plots.map_picture import write_picture

__all__ = ["Branch", "DocumentMap", "View", "make_map", "write_page", "write_picture"]
