"""The outputter nested, without colours."""


class NestDisplay:
    """Prints values one below the other, each level further to the right."""

    def display(self, ret, indent, prefix, out):
        """Add the lines of a value to the list out, which is returned."""
        blanks = " " * indent + prefix
        if ret is None or isinstance(ret, (bool, int, float)):
            out.append(blanks + str(ret))
        elif isinstance(ret, (str, bytes)):
            text = ret.decode("utf-8", "replace") if isinstance(ret, bytes) else ret
            first = True
            for line in text.splitlines():
                out.append((blanks if first else " " * (indent + len(prefix))) + line)
                first = False
        elif isinstance(ret, dict) or hasattr(ret, "items"):
            if indent:
                out.append(" " * indent + "----------")
            for key in _sorted(ret):
                out.append("%s%s:" % (blanks, key))
                value = ret[key]
                if value != "":
                    self.display(value, indent + 4, "", out)
        elif isinstance(ret, (list, tuple)):
            for item in ret:
                if isinstance(item, (list, tuple, dict)):
                    out.append(" " * indent + "|_")
                    self.display(item, indent + 2, "" if isinstance(item, dict) else "- ", out)
                else:
                    self.display(item, indent, "- ", out)
        else:
            out.append(blanks + str(ret))
        return out


def _sorted(mapping):
    from collections import OrderedDict

    if isinstance(mapping, OrderedDict):
        return list(mapping)
    try:
        return sorted(mapping)
    except TypeError:
        return sorted(mapping, key=str)


def output(ret, **kwargs):
    """Return a value as text; nested_indent is how far to the right it begins."""
    return "\n".join(NestDisplay().display(ret, kwargs.get("nested_indent", 0), "", []))
