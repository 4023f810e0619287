"""A peer of transport tcp on Python's msgpack, for the tests of package tcp.

peer.py request PORT       sends requests with ids of both kinds, in odd pieces, and prints "ID BODY" for each reply
peer.py answer             prints its port, and answers what comes on one connection: two at a time, the later first
peer.py subscribe PORT ID  says who it is, and prints each publication
peer.py publish            prints its port and the hello that comes, and publishes in both forms
"""

import socket
import sys

import msgpack


def frames(conn):
    unpacker = msgpack.Unpacker(raw=True, strict_map_key=False)
    while True:
        data = conn.recv(4096)
        if not data:
            return
        unpacker.feed(data)
        for frame in unpacker:
            yield frame


def frame(head, body):
    return msgpack.packb({"head": head, "body": body}, use_bin_type=True)


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def connect(port):
    return socket.create_connection(("127.0.0.1", int(port)), timeout=30)


def accept():
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    conn, _ = listener.accept()
    return conn


def request(port):
    conn = connect(port)
    ids = [1, 2, 2147483646, "4b9c3d4e-8a1f-4c53-9d0f-3b8a5e2f1c7d", "x" * 300]
    stream = b"".join(frame({"mid": i, "more": [i]}, {"enc": "clear", "load": {"n": n}}) for n, i in enumerate(ids))
    for at in range(0, len(stream), 7):
        conn.sendall(stream[at : at + 7])
    replies = frames(conn)
    for _ in ids:
        reply = next(replies)
        head = reply[b"head"]
        assert head[b"more"] == [head[b"mid"]], head
        print(text(head[b"mid"]), text(reply[b"body"]), flush=True)


def answer():
    conn = accept()
    waiting = []
    for f in frames(conn):
        waiting.append(f)
        if len(waiting) == 2:
            for w in reversed(waiting):
                conn.sendall(frame(w[b"head"], w[b"body"]))
            waiting = []


def subscribe(port, name):
    conn = connect(port)
    conn.sendall(frame({}, {"enc": "aes", "load": name.encode()}))
    for f in frames(conn):
        print(text(f[b"body"]), flush=True)


def publish():
    conn = accept()
    hello = next(frames(conn))
    print(text(hello[b"body"][b"load"]), flush=True)
    message = {"enc": "aes", "load": b"\xff\xfe"}
    conn.sendall(frame({}, message) + frame({}, msgpack.packb(message, use_bin_type=True)))
    sys.stdin.read()


globals()[sys.argv[1]](*sys.argv[2:])
