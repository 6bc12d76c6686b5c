"""What data looks like: functions from frames and dataclasses to text, CSV and JSON.

A report doesn't know where its data came from, and writes to no stream itself.
"""
