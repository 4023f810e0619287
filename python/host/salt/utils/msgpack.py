"""MessagePack by the module msgpack of the system."""

try:
    import msgpack as _msgpack

    HAS_MSGPACK = True
except ImportError:
    raise ImportError(
        "MessagePack in Python needs the module msgpack: install python3-msgpack") from None

from msgpack import PackException, UnpackException, UnpackValueError, Unpacker  # noqa: F401
from msgpack import ExtType, exceptions, version  # noqa: F401


def packb(o, **kwargs):
    """Return a value as MessagePack."""
    return _msgpack.packb(o, **_known(kwargs))


def pack(o, stream, **kwargs):
    """Write a value as MessagePack to a file."""
    return _msgpack.pack(o, stream, **_known(kwargs))


def unpackb(packed, **kwargs):
    """Return the value of MessagePack."""
    return _msgpack.unpackb(packed, **_known(kwargs, strict_map_key=False))


def unpack(stream, **kwargs):
    """Return the value of a file of MessagePack."""
    return _msgpack.unpack(stream, **_known(kwargs, strict_map_key=False))


def _known(kwargs, **defaults):
    words = {k: v for k, v in kwargs.items() if k != "_msgpack_module"}
    encoding = words.pop("encoding", None)
    if encoding is not None:
        words["raw"] = False
    return {**defaults, **words}


dumps, dump, loads, load = packb, pack, unpackb, unpack
