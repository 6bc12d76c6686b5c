"""Annotation tracks: what an enriched trace stores, and how it's read back."""
