"""A web server on loopback that answers as it is told: sound by itself, wrong in one way for each test."""

from __future__ import annotations

import http.server
import re
import threading

import pytest


class Handler(http.server.BaseHTTPRequestHandler):
    """One request; `server.answer` is called with it in the place of `usual`."""

    def do_GET(self):
        self.server.asked.append((self.command, self.path, self.headers))
        if ".wellfed" in self.path:
            self.server.index(self)
        else:
            self.server.answer(self)

    do_HEAD = do_PUT = do_POST = do_GET

    def log_message(self, *args):
        pass

    @property
    def is_range(self) -> bool:
        return self.command == "GET" and "Range" in self.headers

    def usual(self, content=None, *, etag='"a"'):
        """All of the content, or the range that is asked for."""
        content = self.server.content if content is None else content
        if not self.is_range:
            self.send(200, content, ETag=etag)
            return
        start, end = self.span(content)
        self.send(206, content[start:end], ETag=etag, Content_Range=f"bytes {start}-{end - 1}/{len(content)}")

    def span(self, content):
        """What is asked for: the first byte, and the one after the last."""
        first, last = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers["Range"]).groups()
        return int(first), min(int(last) + 1 if last else len(content), len(content))

    def send(self, status, body=b"", *, length=None, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.asked = b"", []
        self.answer, self.index = Handler.usual, lambda asked: asked.send(404)
        self.root = f"http://127.0.0.1:{self.server_address[1]}"
        self.url = f"{self.root}/x.tfrecord"

    def handle_error(self, *args):
        """Says nothing of clients that hang up."""


@pytest.fixture
def hostile():
    """A running server."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
