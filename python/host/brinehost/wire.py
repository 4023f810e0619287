"""Messages between Brine and a worker.

A message is its length as four bytes, the highest first, and a value in the format of the module
marshal, version 2: a tuple whose first element is the kind.

    ("call", operation, argument, ...)   asks the other side; answered by one of the next two
    ("return", value, notes)             the answer; notes is a dictionary, empty but for what changed
    ("error", class, text, details)      the answer when the operation failed
    ("log", level, logger, text)         from the worker only; not answered

Both sides call, and calls nest: who waits for an answer answers the calls that arrive before it.
So the calls of a worker form a stack, and messages need no numbers.

marshal has Python's own speed and keeps what MessagePack loses: tuples, sets, bytes beside text and
integers of any size. What it cannot hold is sent as a tuple that begins with Ellipsis:

    (..., "datetime", text)   a date and time in ISO 8601
    (..., "function", (kind, name))   to the worker only: a function, as an argument of an executor
    (..., "ordered", dict)    an OrderedDict
    (..., "repr", text)       an object of another class, by its repr()
"""

import _signal
import _thread
import marshal
import os
import sys

VERSION = 2
MOST = 1 << 28  # bytes of one message
_TOO_LARGE = "the value takes %d bytes, more than the %d that can be returned"
_PLAIN = (int, float, complex, bool, str, bytes, type(None))


class Lost(Exception):
    """Brine has closed the socket."""


class Channel:
    """One socket to Brine, given as a file descriptor.

    Who reads and writes holds the lock turn, and its thread has the usual signals blocked, so that
    neither a thread nor a signal handler of a plug-in can break a message or the order of answers.
    Both are undone while a function of a plug-in runs.
    """

    def __init__(self, fd, answer, raised, build):
        self.fd = fd
        self.answer = answer  # performs a call of the other side
        self.raised = raised  # turns an exception into (class, text, details)
        self.build = build  # turns (class, text, details) into an exception
        self.turn = _thread.allocate_lock()
        self.writing = _thread.RLock()  # log lines are sent without the turn
        self.left = False  # this process is one that a plug-in has forked
        self.notes = {}

    def send(self, message):
        self._write(pack(message))

    def _write(self, data):
        data = len(data).to_bytes(4, "big") + data
        with self.writing:
            sent = os.write(self.fd, data)
            if sent < len(data):
                view = memoryview(data)[sent:]
                while view:
                    view = view[os.write(self.fd, view) :]

    def receive(self):
        return unpack(self._read(int.from_bytes(self._read(4), "big")))

    def _read(self, size):
        if size > MOST:
            raise Lost("a message of %d bytes" % size)
        parts, left = [], size
        while left:
            part = os.read(self.fd, min(left, 1 << 20))
            if not part:
                raise Lost("end of file")
            parts.append(part)
            left -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def call(self, operation, *arguments):
        """Return what Brine answers, or raise the exception that it answers with."""
        if self.left:
            raise RuntimeError("Salt's functions cannot be called in a process that a plug-in has forked")
        data = pack(("call", operation) + arguments)
        _room(20)
        mask = _mask()
        try:
            _block()
            with self.turn:
                message = self._call(data, mask)
        finally:
            _unblock(mask)
        if message[0] == "return":
            return message[1]
        raise self.build(*message[1:])

    def _call(self, data, mask):
        """Send a call, answer the calls that arrive before its answer, and return that."""
        self._write(data)
        while True:
            message = self.receive()
            if message[0] in ("return", "error"):
                return message
            mask = self.perform(message, mask)

    def log(self, level, logger, text):
        if not self.left:
            self.send(("log", level, logger, text))

    def perform(self, message, mask):
        """Answer one call. mask is the set of blocked signals that plug-ins have; return the new one."""
        value = failure = old = None
        self.turn.release()
        try:
            _unblock(mask)
            value = self.answer(message[1], message[2:])
        except Lost:
            os._exit(1)
        except BaseException as exc:  # SystemExit and KeyboardInterrupt are the plug-in's as well
            failure = exc
        while True:
            try:
                if old is None:
                    old = _mask()
                _block()
                break
            except BaseException as exc:  # of a signal handler
                failure = exc
        mask = old
        if self.left:  # the function has forked and returns here too; the parent answers
            _end_fork(failure)
        self.turn.acquire()
        notes, self.notes = self.notes, {}
        if failure is None:
            try:
                self.send(("return", value, notes))
                return mask
            except OSError:
                raise
            except Exception as exc:  # a value that cannot be sent
                failure = exc
        self._fail(failure)
        failure = None  # it refers to this frame
        return mask

    def _fail(self, failure):
        """Send an exception. The stack may be full of the plug-in's calls."""
        try:
            data = _deep(self._describe, failure)
        except Exception:
            data = pack(("error", type(failure).__name__, "an error that cannot be described", {}))
        self._write(data)

    def _describe(self, failure):
        return pack(("error",) + self.raised(failure))

    def serve(self):
        """Answer calls until Brine closes the socket."""
        mask = _mask()
        _block()
        self.turn.acquire()
        try:
            while True:
                mask = self.perform(self.receive(), mask)
        except Lost:
            pass

    def leave(self):
        """Give up the socket in a process that a plug-in has forked."""
        self.left = True
        try:
            os.close(self.fd)
        except OSError:
            pass


def _room(levels):
    """Raise RecursionError unless calls may nest that much deeper, before a message is half sent."""
    if levels:
        _room(levels - 1)


# Each of these three may raise what the handler of a signal raises that came before.


def _mask():
    """Return the set of blocked signals."""
    return _signal.pthread_sigmask(_signal.SIG_BLOCK, ())


def _block():
    """Block the signals that plug-ins handle."""
    _signal.pthread_sigmask(_signal.SIG_BLOCK, _HANDLED)


def _unblock(mask):
    _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)


_HANDLED = (
    _signal.SIGALRM, _signal.SIGCHLD, _signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM, _signal.SIGUSR1,
    _signal.SIGUSR2, _signal.SIGVTALRM,
)


def _end_fork(failure):
    """End a forked process whose function has returned."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    code = getattr(failure, "code", 1) if failure is not None else 0
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


class TooLarge(Exception):
    """A value that does not fit into a message."""


def pack(message):
    if message[0] == "return" and isinstance(message[1], (str, bytes)) and len(message[1]) > MOST:
        raise TooLarge(_TOO_LARGE % (len(message[1]), MOST))  # before it is copied
    try:
        data = marshal.dumps(message, VERSION)
    except ValueError:  # an object that marshal does not know, or nested too deep
        data = marshal.dumps(_deep(plain, message), VERSION)
    if len(data) > MOST:
        raise TooLarge(_TOO_LARGE % (len(data), MOST))
    return data


def _deep(function, argument):
    """Call a function that may recurse 500 levels deeper than the plug-in."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + 2000)
    try:
        return function(argument)
    finally:
        sys.setrecursionlimit(limit)


def plain(value, depth=0):
    """Return value with marshal's types in place of all others."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if depth > 500:
        raise ValueError("the value nests deeper than 500")
    depth += 1
    if kind is list:
        return [plain(v, depth) for v in value]
    if kind is tuple:
        return tuple([plain(v, depth) for v in value])
    if kind is dict:
        return {plain(k, depth): plain(v, depth) for k, v in value.items()}
    if kind is set or kind is frozenset:
        return kind(plain(v, depth) for v in value)
    tag = _tagged(value, kind, depth)
    if tag is not None:
        return tag
    for base in (str, bytes, bool, int, float):
        if isinstance(value, base):
            return base(value) if base is not str else str.__str__(value)
    if isinstance(value, dict):
        return {plain(k, depth): plain(v, depth) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple([plain(v, depth) for v in value])
    if isinstance(value, list):
        return [plain(v, depth) for v in value]
    try:
        return (..., "repr", repr(value))
    except Exception as exc:
        return (..., "repr", "<%s.%s whose repr() failed: %s>" % (kind.__module__, kind.__name__, type(exc).__name__))


def _tagged(value, kind, depth):
    module, name = kind.__module__, kind.__name__
    if module == "datetime" and name in ("datetime", "date"):
        return (..., name, value.isoformat())
    if name == "OrderedDict" and isinstance(value, dict):
        return (..., "ordered", {plain(k, depth): plain(v, depth) for k, v in value.items()})
    mapping = getattr(value, "__brine_value__", None)
    if mapping is not None:
        return plain(mapping(), depth)
    return None


def unpack(data):
    return marshal.loads(data)
