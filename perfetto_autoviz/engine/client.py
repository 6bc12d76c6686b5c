"""One persistent HTTP connection to one engine."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable

from perfetto_autoviz.errors import EngineError

# The native shell closes the connection after an answer unless it's asked not to.
_HEADERS = {"Connection": "keep-alive"}


class Client:
    """Posts requests to an engine on 127.0.0.1, one at a time, from any thread.

    Args:
        port: where the engine listens.
        on_failure: is given the engine's own words (or an empty string) when no answer
            came or the answer was no success, and returns the error to raise.
    """

    def __init__(self, port: int, on_failure: Callable[[str], EngineError]) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._on_failure = on_failure
        self._lock = threading.Lock()

    def post(self, endpoint: str, body: bytes | memoryview) -> bytes:
        """Sends a request and waits for the whole answer.

        Raises:
            EngineError: the engine is gone, or answered that it can't go on.
        """
        return self._request("POST", endpoint, body)

    def get(self, endpoint: str) -> bytes:
        """As `post`, for the endpoints that take no body."""
        return self._request("GET", endpoint, None)

    def close(self) -> None:
        """Closes the connection; a request under way in another thread fails."""
        self._connection.close()

    def _request(self, method: str, endpoint: str, body: bytes | memoryview | None) -> bytes:
        with self._lock:
            try:
                self._connection.request(method, endpoint, body, _HEADERS)
                with self._connection.getresponse() as response:
                    answer = response.read()
                    status = response.status
            except (OSError, http.client.HTTPException, ValueError) as error:
                self._connection.close()
                raise self._on_failure("") from error
            except BaseException:
                # Interrupted: the rest of this answer must not be taken for the next one's.
                self._connection.close()
                raise
        if status != http.client.OK:
            raise self._on_failure(answer.decode(errors="replace"))
        return answer
