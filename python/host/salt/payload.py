"""MessagePack, as salt.payload has it: text and bytes are one kind, and come back as text."""


def _msgpack():
    try:
        import msgpack

        return msgpack
    except ImportError:
        raise ImportError("MessagePack in Python needs the module msgpack: install python3-msgpack"
                          ) from None


def _extension(library):
    def pack(value):
        import datetime

        if isinstance(value, datetime.datetime):
            return library.ExtType(78, value.strftime("%Y%m%dT%H:%M:%S.%f").encode())
        if isinstance(value, (set, frozenset)):
            return list(value)
        if isinstance(value, int):
            return str(value)
        if hasattr(value, "__brine_value__"):
            return value.__brine_value__()
        if hasattr(value, "items"):
            return dict(value)
        return repr(value)

    return pack


def _unpacked(code, data):
    if code == 78:
        import datetime

        return datetime.datetime.strptime(data.decode(), "%Y%m%dT%H:%M:%S.%f")
    return data


def _small(value):
    """Return value with text in place of integers that MessagePack cannot hold."""
    if isinstance(value, dict):
        return {_small(k): _small(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_small(v) for v in value]
    if isinstance(value, int) and not -2**63 <= value < 2**64:
        return str(value)
    return value


def dumps(msg, use_bin_type=False):
    """Return a value as MessagePack."""
    library = _msgpack()
    try:
        return library.packb(msg, default=_extension(library), use_bin_type=use_bin_type)
    except OverflowError:
        return library.packb(_small(msg), default=_extension(library), use_bin_type=use_bin_type)


def loads(msg, encoding=None, raw=False):
    """Return the value of MessagePack. Bytes that are no text stay bytes; with raw, all do."""
    library = _msgpack()
    try:
        value = library.unpackb(msg, use_list=True, ext_hook=_unpacked, raw=True,
                                strict_map_key=False)
    except ValueError as exc:
        from salt.exceptions import SaltDeserializationError

        raise SaltDeserializationError("Could not deserialize msgpack message: %s" % exc) from exc
    if raw and encoding is None:
        return value
    from salt.utils import data

    return data.decode(value, encoding, keep=True)


def dump(msg, fn_):
    """Write a value as MessagePack to a file, and close it."""
    fn_.write(dumps(msg, use_bin_type=True))
    fn_.close()


def load(fn_):
    """Return the value of a file of MessagePack, and close it."""
    content = fn_.read()
    fn_.close()
    return loads(content) if content else None


def package(payload):
    """Return a value as MessagePack."""
    return dumps(payload)


def unpackage(package_):
    """Return the value of MessagePack, with bytes for all text."""
    return loads(package_, raw=True)


def format_payload(enc, **kwargs):
    """Return a message of Salt's as MessagePack."""
    return package({"enc": enc, "load": dict(kwargs)})


class Serial:
    """The functions of this module as methods."""

    def __init__(self, opts=None):
        self.serial = "msgpack"

    def loads(self, msg, encoding=None, raw=False):
        """Return the value of MessagePack."""
        return loads(msg, encoding, raw)

    def load(self, fn_):
        """Return the value of a file of MessagePack."""
        return load(fn_)

    def dumps(self, msg, use_bin_type=False):
        """Return a value as MessagePack."""
        return dumps(msg, use_bin_type)

    def dump(self, msg, fn_):
        """Write a value as MessagePack to a file."""
        dump(msg, fn_)
