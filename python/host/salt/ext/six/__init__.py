"""Names for both Python 2 and 3, as the module six had them: here for Python 3 alone."""

import builtins
import functools
import io
import operator
import sys
import types

PY2, PY3, PY34 = False, True, True
string_types = (str,)
integer_types = (int,)
class_types = (type,)
text_type, binary_type = str, bytes
MAXSIZE = sys.maxsize
unichr, int2byte = chr, operator.methodcaller("to_bytes", 1, "big")
byte2int, indexbytes, iterbytes = operator.itemgetter(0), operator.getitem, iter
StringIO, BytesIO = io.StringIO, io.BytesIO
exec_, print_ = builtins.exec, builtins.print
next = advance_iterator = builtins.next
callable, Iterator = builtins.callable, object
wraps = functools.wraps
get_method_function = operator.attrgetter("__func__")
get_method_self = operator.attrgetter("__self__")
get_function_closure = operator.attrgetter("__closure__")
get_function_code = operator.attrgetter("__code__")
get_function_defaults = operator.attrgetter("__defaults__")
get_function_globals = operator.attrgetter("__globals__")
get_unbound_function = create_unbound_method = lambda method, cls=None: method
create_bound_method = types.MethodType


def iterkeys(d, **kw):
    """Return an iterator of a dictionary's keys."""
    return iter(d.keys(**kw))


def itervalues(d, **kw):
    """Return an iterator of a dictionary's values."""
    return iter(d.values(**kw))


def iteritems(d, **kw):
    """Return an iterator of a dictionary's pairs."""
    return iter(d.items(**kw))


viewkeys, viewvalues, viewitems = (
    operator.methodcaller(name) for name in ("keys", "values", "items"))


def iterlists(d, **kw):
    """Return an iterator of a dictionary's lists."""
    return iter(d.lists(**kw))


def b(s):
    """Return text as bytes of Latin-1."""
    return s.encode("latin-1")


def u(s):
    """Return the text."""
    return s


def ensure_binary(s, encoding="utf-8", errors="strict"):
    """Return text or bytes as bytes."""
    if isinstance(s, bytes):
        return s
    if isinstance(s, str):
        return s.encode(encoding, errors)
    raise TypeError("not expecting type '%s'" % type(s))


def ensure_str(s, encoding="utf-8", errors="strict"):
    """Return text or bytes as text."""
    if isinstance(s, str):
        return s
    if isinstance(s, bytes):
        return s.decode(encoding, errors)
    raise TypeError("not expecting type '%s'" % type(s))


ensure_text = ensure_str


def reraise(tp, value, tb=None):
    """Raise an exception with another traceback."""
    if value is None:
        value = tp()
    raise value.with_traceback(tb)


def raise_from(value, from_value):
    """Raise an exception with its cause."""
    raise value from from_value


def add_metaclass(metaclass):
    """Return a decorator that makes a class anew with a metaclass."""

    def wrapper(cls):
        names = dict(cls.__dict__)
        for slot in names.get("__slots__", ()) if not isinstance(
                names.get("__slots__"), str) else (names["__slots__"],):
            names.pop(slot, None)
        names.pop("__dict__", None)
        names.pop("__weakref__", None)
        return metaclass(cls.__name__, cls.__bases__, names)

    return wrapper


def with_metaclass(meta, *bases):
    """Return a base class that gives a class a metaclass."""

    class metaclass(type):
        def __new__(cls, name, this_bases, d):
            return meta(name, bases, d)

        @classmethod
        def __prepare__(cls, name, this_bases):
            return meta.__prepare__(name, bases)

    return type.__new__(metaclass, "temporary_class", (), {})


def python_2_unicode_compatible(cls):
    """Return the class."""
    return cls
