"""The serializer of YAML, with PyYAML's own rules."""

from salt.serializers import DeserializationError, SerializationError

try:
    import yaml as _yaml
except ImportError:
    from salt.utils import yaml as _yaml  # raises what says how to install it

available = True

BaseLoader = getattr(_yaml, "CSafeLoader", _yaml.SafeLoader)
BaseDumper = getattr(_yaml, "CSafeDumper", _yaml.SafeDumper)


class Loader(BaseLoader):
    """The loader of deserialize."""


class Dumper(BaseDumper):
    """The dumper of serialize."""


def deserialize(stream_or_string, **options):
    """Return the value of YAML text."""
    options.setdefault("Loader", Loader)
    try:
        return _yaml.load(stream_or_string, **options)
    except _yaml.scanner.ScannerError as exc:
        text = "Illegal tab character" if "'\\t' that cannot start" in str(exc.problem) else (
            "Unknown yaml render error")
        raise DeserializationError(text) from exc
    except Exception as exc:
        raise DeserializationError(exc) from exc


def serialize(obj, **options):
    """Return a value as YAML text."""
    options.setdefault("Dumper", Dumper)
    options.setdefault("default_flow_style", None)
    options.setdefault("allow_unicode", True)
    try:
        text = _yaml.dump(_plain(obj), **options)
    except Exception as exc:
        raise SerializationError(exc) from exc
    if isinstance(text, str) and text.endswith("\n...\n"):
        return text[:-5]
    return text[:-1] if isinstance(text, str) and text.endswith("\n") else text


def _plain(value):
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    if isinstance(value, dict):
        return {_plain(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if hasattr(value, "__brine_value__"):
        return _plain(value.__brine_value__())
    return value

