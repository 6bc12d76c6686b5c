"""``python -m perfetto_autoviz`` is the command ``autoviz``."""

import sys

from perfetto_autoviz.cli import main

sys.exit(main())
