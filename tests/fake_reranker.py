"""A reranker on the loopback, as honest as a test wants it."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def answer(*pairs):
    return json.dumps({"results": [{"index": i, "relevance_score": s} for i, s in pairs]}).encode()


@contextmanager
def listening(respond):
    """The address of a server on the loopback; `respond(handler, body)` writes its answer."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            respond(self, body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v2/rerank"
    finally:
        server.shutdown()
        server.server_close()


def reply_with(handler, status, body=b"", **headers):
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def rank_by_length(handler, body):
    """Long documents first."""
    documents = json.loads(body)["documents"]
    reply_with(handler, 200, answer(*((i, float(len(t))) for i, t in enumerate(documents))))
