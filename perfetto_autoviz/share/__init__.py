"""Hands one file to ui.perfetto.dev: a server on this machine, and the link to open."""
