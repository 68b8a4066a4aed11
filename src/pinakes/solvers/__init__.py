"""One algorithm a file, its problem and paper in the header."""
