"""Cuts of native Perfetto traces, packet by packet."""

from perfetto_autoviz.splitting.native.opened import open_native

__all__ = ["open_native"]
