"""A peer on libzmq for the tests: libzmq.py MODE ENDPOINT [NAME=VALUE...]. It speaks lines on stdin and stdout."""

import resource
import sys
import threading

import zmq


def say(*words):
    print(*words, flush=True)


def options():
    given = dict(word.split("=", 1) for word in sys.argv[3:])
    return lambda name, default: given.get(name, default)


def heartbeats(sock, ivl):
    if ivl:
        sock.setsockopt(zmq.HEARTBEAT_IVL, ivl)
        sock.setsockopt(zmq.HEARTBEAT_TIMEOUT, 120_000)


def make(ctx, kind, opt):
    sock = ctx.socket(getattr(zmq, kind))
    sock.setsockopt(zmq.LINGER, 0)
    sock.setsockopt(zmq.RECONNECT_IVL, 5)
    heartbeats(sock, int(opt("heartbeat", "0")))
    if opt("identity", ""):
        sock.setsockopt(zmq.IDENTITY, opt("identity", "").encode())
    return sock


def bound(sock, endpoint):
    sock.bind(endpoint)
    say(sock.getsockopt(zmq.LAST_ENDPOINT).rstrip(b"\0").decode())


def device(ctx, endpoint, opt):
    """A Salt master's chain: ROUTER, DEALER, and REP workers that echo."""
    front, back = make(ctx, "ROUTER", opt), ctx.socket(zmq.DEALER)
    bound(front, endpoint)
    back.bind("inproc://workers")

    def work():
        rep = ctx.socket(zmq.REP)
        rep.connect("inproc://workers")
        while True:
            rep.send_multipart(rep.recv_multipart())

    for _ in range(3):
        threading.Thread(target=work, daemon=True).start()
    threading.Thread(target=zmq.proxy, args=(front, back), daemon=True).start()
    sys.stdin.read()


def pub(ctx, endpoint, opt):
    sock = make(ctx, "PUB", opt)
    bound(sock, endpoint)
    for line in sys.stdin:
        sock.send_multipart([bytes.fromhex(frame) for frame in line.split("|")])


def sub(ctx, endpoint, opt):
    sock = make(ctx, opt("kind", "SUB"), opt)
    sock.connect(endpoint)
    for topic in opt("topics", "").split(","):
        if opt("kind", "SUB") == "XSUB":
            sock.send(b"\1" + topic.encode())
        else:
            sock.setsockopt(zmq.SUBSCRIBE, topic.encode())
    while True:
        say("|".join(frame.hex() for frame in sock.recv_multipart()))


def req(ctx, endpoint, opt):
    """Echoes each line of stdin through a request; envelope=a,b adds frames, for a DEALER."""
    sock = make(ctx, opt("kind", "REQ"), opt)
    sock.connect(endpoint)
    envelope = [f.encode() for f in opt("envelope", "").split(",") if f]
    if opt("kind", "REQ") == "DEALER":
        envelope.append(b"")
    for line in sys.stdin:
        sock.send_multipart(envelope + [bytes.fromhex(line.strip())])
        if opt("burst", ""):
            continue
        answer(sock, envelope)
    for _ in range(int(opt("burst", "0"))):
        answer(sock, envelope)


def answer(sock, envelope):
    frames = sock.recv_multipart()
    if frames[:-1] != envelope:
        say("envelope", frames)
        sys.exit(1)
    say(frames[-1].hex())


def cpu(ctx, endpoint, opt):
    """A server for comparisons: does what a line says, and prints the CPU seconds of this process when asked."""
    kind = opt("kind", "PUB")
    sock = ctx.socket(getattr(zmq, kind))
    sock.setsockopt(zmq.SNDHWM, 100000)
    sock.setsockopt(zmq.BACKLOG, 5000)
    bound(sock, endpoint)
    if kind == "ROUTER":
        # With one socket on both sides the proxy, which is C, sends each message back where it came from.
        threading.Thread(target=zmq.proxy, args=(sock, sock), daemon=True).start()
    for line in sys.stdin:
        words = line.split()
        if words[0] == "publish":
            body = b"x" * int(words[2])
            for _ in range(int(words[1])):
                sock.send(body)
            say("ok")
        if words[0] == "cpu":
            used = resource.getrusage(resource.RUSAGE_SELF)
            say(used.ru_utime + used.ru_stime)


def main():
    modes = {"device": device, "pub": pub, "sub": sub, "req": req, "cpu": cpu}
    modes[sys.argv[1]](zmq.Context(), sys.argv[2], options())


main()
