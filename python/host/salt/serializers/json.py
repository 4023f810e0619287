"""The serializer of JSON."""

from salt.serializers import DeserializationError, SerializationError

available = True


def deserialize(stream_or_string, **options):
    """Return the value of JSON text, of bytes or of a file."""
    from salt.utils import json

    try:
        if not isinstance(stream_or_string, (bytes, str)):
            return json.load(stream_or_string, **options)
        return json.loads(stream_or_string, **options)
    except Exception as exc:
        raise DeserializationError(exc) from exc


def serialize(obj, **options):
    """Return a value as JSON text; with the keyword fp it is written to that file."""
    from salt.utils import json

    try:
        if "fp" in options:
            return json.dump(obj, **options)
        return json.dumps(obj, **options)
    except Exception as exc:
        raise SerializationError(exc) from exc
