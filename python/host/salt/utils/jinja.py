"""What of salt.utils.jinja plug-ins use without a template."""

from collections import OrderedDict


class PrintableDict(OrderedDict):
    """An ordered dictionary that prints like a plain one."""

    def __repr__(self):
        return "{%s}" % ", ".join("%r: %r" % pair for pair in self.items())

    __str__ = __repr__


def to_bool(val):
    """Return the truth of a value: 1, true and yes, numbers above 0, collections with items."""
    if val is None:
        return False
    if isinstance(val, bool):
        return val
    if isinstance(val, (str, bytes)):
        return val.lower() in ("yes", "1", "true")
    if isinstance(val, int):
        return val > 0
    return len(val) > 0 if hasattr(val, "__len__") else bool(val)


def quote(txt):
    """Return a text quoted for a shell."""
    import shlex

    return shlex.quote(txt)


def regex_search(txt, rgx, ignorecase=False, multiline=False):
    """Return the groups of the first place that a regular expression matches, or None."""
    import re

    flags = (re.I if ignorecase else 0) | (re.M if multiline else 0)
    found = re.search(rgx, txt, flags)
    return found.groups() if found else None


def regex_match(txt, rgx, ignorecase=False, multiline=False):
    """Return the groups of a regular expression that matches from the beginning, or None."""
    import re

    flags = (re.I if ignorecase else 0) | (re.M if multiline else 0)
    found = re.match(rgx, txt, flags)
    return found.groups() if found else None


def regex_replace(txt, rgx, val, ignorecase=False, multiline=False):
    """Return a text with val in place of all that a regular expression matches."""
    import re

    flags = (re.I if ignorecase else 0) | (re.M if multiline else 0)
    return re.sub(rgx, val, txt, flags=flags)


def regex_escape(value):
    """Return a text as a regular expression that matches it alone."""
    import re

    return re.escape(value)


def unique(values):
    """Return the items of a list, each once."""
    found = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def union(lst1, lst2):
    """Return the items that either list has."""
    return unique(list(lst1) + list(lst2))


def intersect(lst1, lst2):
    """Return the items that both lists have."""
    return unique([item for item in lst1 if item in lst2])


def difference(lst1, lst2):
    """Return the items that the first list alone has."""
    return unique([item for item in lst1 if item not in lst2])


def symmetric_difference(lst1, lst2):
    """Return the items that one list alone has."""
    return unique([item for item in union(lst1, lst2) if item not in intersect(lst1, lst2)])


def jinja_raise(msg):
    """Raise an exception with a text."""
    from salt.exceptions import TemplateError

    raise TemplateError(msg)
