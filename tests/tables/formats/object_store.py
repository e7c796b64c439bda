"""A store of objects as S3 speaks, in this process: enough for the client in pyarrow to read, write and list."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import BinaryIO
from urllib.parse import parse_qs, unquote, urlsplit


class Store:
    """The objects by bucket and key, and the methods that were asked for."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.address = ""

    def uri(self, path: str) -> str:
        return f"s3://key:hush@{path}?endpoint_override={self.address}&scheme=http&region=us-east-1"


def _chunks(stream: BinaryIO) -> bytes:
    """What was sent in chunks, each with its size before it."""
    found = b""
    while size := int(stream.readline().partition(b";")[0], 16):
        found += stream.read(size)
        stream.readline()
    while stream.readline().strip():
        pass
    return found


def _handler(store: Store) -> type[BaseHTTPRequestHandler]:
    parts: dict[str, dict[int, bytes]] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def _asked(self) -> tuple[str, dict[str, list[str]]]:
            address = urlsplit(self.path)
            store.asked.append(self.command)
            return unquote(address.path).strip("/"), parse_qs(address.query, keep_blank_values=True)

        def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            if "Content_Length" not in headers:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") == "chunked":
                read = _chunks(self.rfile)
            else:
                read = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            inside = "aws-chunked" in self.headers.get("Content-Encoding", "")
            return _chunks(io.BytesIO(read)) if inside else read

        def do_HEAD(self) -> None:
            path, _ = self._asked()
            if path in store.objects:
                self._answer(200, Content_Length=str(len(store.objects[path])), ETag='"x"')
            else:
                self._answer(404)

        def do_GET(self) -> None:
            path, query = self._asked()
            if "list-type" in query:
                start = f"{path}/{query.get('prefix', [''])[0]}"
                keys = [one.partition("/")[2] for one in sorted(store.objects) if one.startswith(start)]
                listed = "".join(
                    f"<Contents><Key>{key}</Key><Size>{len(store.objects[f'{path}/{key}'])}</Size>"
                    "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
                    for key in keys
                )
                count = f"<KeyCount>{len(keys)}</KeyCount><IsTruncated>false</IsTruncated>"
                self._answer(200, f"<ListBucketResult>{count}{listed}</ListBucketResult>".encode())
                return
            if path not in store.objects:
                self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
                return
            whole = store.objects[path]
            first, _, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
            end = int(last) + 1 if last else len(whole)
            self._answer(206, whole[int(first) : end], ETag='"x"')

        def do_PUT(self) -> None:
            path, query = self._asked()
            body = self._body()
            if "uploadId" in query:
                parts[path][int(query["partNumber"][0])] = body
            else:
                store.objects[path] = body
            self._answer(200, ETag='"x"')

        def do_POST(self) -> None:
            path, query = self._asked()
            self._body()
            if "uploads" in query:
                parts[path] = {}
                body = b"<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>"
                self._answer(200, body)
                return
            store.objects[path] = b"".join(part for _, part in sorted(parts.pop(path).items()))
            self._answer(200, b"<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")

    return Handler


@contextmanager
def object_store() -> Iterator[Store]:
    """A store that answers on a port of this machine."""
    store = Store()
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(store)) as server:
        store.address = f"127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield store
        server.shutdown()
        thread.join()
