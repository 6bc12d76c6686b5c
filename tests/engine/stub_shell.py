"""Stands for a native shell: the HTTP behaviour that differs from the WebAssembly harness.

It answers queries in chunks, closes a connection unless asked to keep it, and does as the SQL
says: ``die`` ends the process without an answer, ``full`` answers 500 and ends, anything else
returns one row with the number of connections so far. Standard library only.
"""

from __future__ import annotations

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

connections = 0


def field(number: int, payload: bytes) -> bytes:
    """A length-delimited protobuf field shorter than 128 bytes."""
    return bytes([number << 3 | 2, len(payload)]) + payload


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        global connections
        connections += 1
        super().setup()

    def do_GET(self) -> None:
        self.send(field(2, b"Perfetto v57.1-abc (abc)") + bytes([3 << 3, 14]))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if b"die" in body:
            os._exit(3)
        if b"full" in body:
            self.send_response(500)
            self.send_header("Content-Length", "12")
            self.end_headers()
            self.wfile.write(b"heap is full")
            self.wfile.flush()
            os._exit(1)
        names = field(1, b"connections") + field(1, b"name")
        batch = field(1, bytes([2, 4])) + field(2, bytes([connections])) + field(5, b"\xffx\0")
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.keep_or_close()
        self.end_headers()
        for part in (names, field(3, batch)):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")

    def send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.keep_or_close()
        self.end_headers()
        self.wfile.write(body)

    def keep_or_close(self) -> None:
        if self.headers.get("Connection") == "keep-alive":
            self.send_header("Connection", "keep-alive")
        else:
            self.send_header("Connection", "close")
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    if "--refuse" in sys.argv or os.environ.get("STUB_REFUSE"):
        sys.exit("this machine is too old for me")
    port = int(sys.argv[sys.argv.index("--http-port") + 1])
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
