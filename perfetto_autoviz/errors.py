"""The errors a user may meet.

Each message is one line that says what is wrong and what to do about it; the
command line prints it as it is and exits with 2.
"""


class AutovizError(Exception):
    """Anything that a user can mend: a wrong file, a missing engine, wrong arguments."""


class CaptureError(AutovizError):
    """The input is no capture this project can use, or names no capture at all."""


class EngineError(AutovizError):
    """A trace processor could not be found, started, or died."""


class QueryError(AutovizError):
    """The engine refused a SQL statement; the message is the engine's own."""


class UsageError(AutovizError):
    """Arguments that contradict each other or name nothing that exists."""
