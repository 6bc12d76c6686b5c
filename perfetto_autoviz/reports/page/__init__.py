"""Pages with charts and tables that are one file each: what all of them have in common."""
