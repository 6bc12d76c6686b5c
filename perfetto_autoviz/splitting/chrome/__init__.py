"""Cuts of captures of JSON, event by event."""

from perfetto_autoviz.splitting.chrome.opened import open_json

__all__ = ["open_json"]
