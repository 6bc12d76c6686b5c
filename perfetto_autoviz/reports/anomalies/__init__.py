"""Abnormal runs for readers: in the terminal, as plain values, as rows, as a page."""
