"""JSON, as salt.utils.json has it: text is not escaped to ASCII, bytes are read as UTF-8."""


def import_json():
    """Return the module json."""
    import json

    return json


def _library(kwargs):
    return kwargs.pop("_json_module", None) or import_json()


def loads(s, **kwargs):
    """Return the value of JSON text, given as text or bytes."""
    library = _library(kwargs)
    if isinstance(s, (bytes, bytearray)):
        s = bytes(s).decode("utf-8")
    return library.loads(s, **kwargs)


def load(fp, **kwargs):
    """Return the value of the JSON text that a file has."""
    return _library(kwargs).load(fp, **kwargs)


def dumps(obj, **kwargs):
    """Return a value as JSON text."""
    library = _library(kwargs)
    kwargs.setdefault("ensure_ascii", False)
    return library.dumps(obj, **kwargs)


def dump(obj, fp, **kwargs):
    """Write a value as JSON text to a file."""
    library = _library(kwargs)
    kwargs.setdefault("ensure_ascii", False)
    library.dump(obj, fp, **kwargs)


def find_json(raw):
    """Return the value of JSON text that other lines precede; ValueError if there is none."""
    lines = raw.splitlines()
    for at in range(len(lines)):
        try:
            return loads("\n".join(lines[at:]))
        except ValueError:
            continue
    raise ValueError
