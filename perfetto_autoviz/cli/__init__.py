"""The command line: one file per command, each with the same two members, `run` and `command`."""

from perfetto_autoviz.cli.app import main

__all__ = ["main"]
