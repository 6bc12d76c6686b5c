"""Windows of a capture, written as captures."""

from perfetto_autoviz.splitting.run import SplitOptions, Splitting, check, split
from perfetto_autoviz.splitting.windows import Wanted

__all__ = ["SplitOptions", "Splitting", "Wanted", "check", "split"]
