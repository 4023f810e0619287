"""Defaults, as salt.defaults has them."""

DEFAULT_TARGET_DELIM = ":"


class _Constant:
    """A value that is equal to itself alone, in copies too."""

    def __init__(self, name, value=None):
        self.name = name
        self.value = value

    def __eq__(self, other):
        return isinstance(other, _Constant) and (self.name, self.value) == (other.name, other.value)

    def __hash__(self):
        return hash((self.name, self.value))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __repr__(self):
        return "<Constant.%s>" % self.name


NOT_SET = _Constant("NOT_SET")
