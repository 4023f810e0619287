"""Arguments of functions, as salt.utils.args handles them."""


class _LazyRegex:
    """A regular expression that is compiled when it is first used."""

    def __init__(self, pattern):
        self.pattern = pattern

    def __getattr__(self, name):
        import re

        compiled = re.compile(self.pattern)
        self.__dict__.update({n: getattr(compiled, n) for n in
                              ("match", "search", "fullmatch", "sub", "findall")})
        return getattr(compiled, name)


KWARG_REGEX = _LazyRegex(r"^([^\d\W][\w.-]*)=(?!=)(.*)$")


def clean_kwargs(**kwargs):
    """Return the keywords without those of Salt's own, which begin with __."""
    return {k: v for k, v in kwargs.items() if not k.startswith("__")}


def invalid_kwargs(invalid_kwargs, raise_exc=True):
    """Raise SaltInvocationError for keywords that a function does not take, or return its text."""
    text = "The following keyword arguments are not valid: " + ", ".join(
        "%s=%s" % pair for pair in invalid_kwargs.items())
    if not raise_exc:
        return text
    from salt.exceptions import SaltInvocationError

    raise SaltInvocationError(text)


def condition_input(args, kwargs):
    """Return arguments as a job has them: keywords are a dictionary at the end."""
    made = []
    for arg in args:
        if isinstance(arg, int) and not isinstance(arg, bool) and not -2**63 <= arg < 2**64:
            arg = str(arg)  # MessagePack has no such number
        made.append(arg)
    if kwargs:
        words = {"__kwarg__": True}
        words.update(kwargs)
        made.append(words)
    return made


def parse_input(args, condition=True, no_parse=None):
    """Read the arguments of a command line: values are YAML, name=value is a keyword."""
    unparsed = no_parse or ()
    positional, words = [], {}
    for arg in args:
        if isinstance(arg, str):
            name, value = parse_kwarg(arg)
            if name:
                words[name] = value if name in unparsed else yamlify_arg(value)
            else:
                positional.append(yamlify_arg(arg))
        elif isinstance(arg, dict):
            if arg.pop("__kwarg__", False) is True:
                words.update(arg)
            else:
                positional.append(arg)
        else:
            positional.append(arg)
    return condition_input(positional, words) if condition else (positional, words)


def parse_kwarg(string_):
    """Return (name, value) of name=value, else (None, None)."""
    found = KWARG_REGEX.match(string_)
    return found.groups() if found else (None, None)


def yamlify_arg(arg):
    """Return the value of an argument of a command line, which is YAML with exceptions.

    Text with a colon, a hash or an underscore in a number, dates and what is no YAML stay text.
    """
    if not isinstance(arg, str) or not arg.strip():
        return arg
    if arg.lower() in ("none", "null"):
        return None
    import re

    if "_" in arg and re.match(r"^\d+(_\d+)+$", arg) or re.match(r"^\d{4}-\d\d?-\d\d?", arg):
        return arg
    if "#" in arg and not arg.lstrip().startswith(("{", "[")):
        return arg
    if arg == "None":
        return None
    if re.match(r"^0\d+$", arg):
        return int(arg)
    if arg[0] in "!*&%@`|>" or "\n" in arg:
        return arg
    try:
        from salt.utils import yaml

        value = yaml.safe_load(arg)
    except ImportError:
        return _scalar(arg)
    except Exception:  # pylint: disable=broad-except
        return arg
    if isinstance(value, dict) and not arg.lstrip().startswith("{"):
        return arg
    if isinstance(value, list) and not arg.lstrip().startswith("["):
        return arg
    if value is None or isinstance(value, (dict, list, int, float, str)):
        return value
    return arg


def _scalar(text):
    """Return the number or truth that a text is, as YAML has it, else the text."""
    words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


class ArgSpec(tuple):
    """The parameters of a function: args, varargs, keywords and defaults."""

    _fields = ("args", "varargs", "keywords", "defaults")

    def __new__(cls, args, varargs=None, keywords=None, defaults=None):
        return tuple.__new__(cls, (args, varargs, keywords, defaults))

    args = property(lambda self: self[0])
    varargs = property(lambda self: self[1])
    keywords = property(lambda self: self[2])
    defaults = property(lambda self: self[3])

    def _replace(self, **changes):
        return ArgSpec(*[changes.get(name, value) for name, value in zip(self._fields, self)])

    def _asdict(self):
        return dict(zip(self._fields, self))

    def __repr__(self):
        return "ArgSpec(%s)" % ", ".join("%s=%r" % pair for pair in zip(self._fields, self))


_ArgSpec = ArgSpec


def get_function_argspec(func, is_class_method=None):
    """Return the ArgSpec of a function, or of the one that it wraps; self of a method does not count.

    Parameters that can only be passed by position are left out, as in Salt.
    """
    import inspect

    if not callable(func):
        raise TypeError("%s is not a callable" % (func,))
    while hasattr(func, "__wrapped__"):
        func = func.__wrapped__
    try:
        parameters = inspect.signature(func).parameters.values()
    except (TypeError, ValueError):
        raise TypeError("Cannot inspect argument list for '%s'" % (func,)) from None
    args, varargs, keywords, defaults = [], None, None, []
    for p in parameters:
        if p.kind == p.VAR_POSITIONAL:
            varargs = p.name
        elif p.kind == p.VAR_KEYWORD:
            keywords = p.name
        elif p.kind == p.POSITIONAL_OR_KEYWORD:
            args.append(p.name)
            if p.default is not p.empty:
                defaults.append(p.default)
    if is_class_method:
        del args[0]
    return ArgSpec(args, varargs, keywords, tuple(defaults) or None)


def shlex_split(s, **kwargs):
    """Return the words of a command line; what is no text stays."""
    if not isinstance(s, str):
        return s
    import shlex

    return shlex.split(s, **kwargs)


def arg_lookup(fun, aspec=None):
    """Return the parameters of a function: {"args": [...], "kwargs": {name: default}}."""
    spec = aspec or get_function_argspec(fun)
    defaults = spec.defaults or ()
    first = len(spec.args) - len(defaults)
    return {"kwargs": dict(zip(spec.args[first:], defaults)), "args": spec.args[:first]}


def argspec_report(functions, module=""):
    """Return the parameters of all functions whose names begin with module, or match it."""
    import fnmatch

    found = {}
    for name in functions:
        if "*" in module or "." in module:
            wanted = fnmatch.fnmatch(name, module)
        else:
            wanted = not module or name.startswith(module + ".")
        if wanted:
            spec = get_function_argspec(functions[name])
            found[name] = {
                "args": spec.args or None, "defaults": spec.defaults or None,
                "varargs": True if spec.varargs else None,
                "kwargs": True if spec.keywords else None,
            }
    return found


def split_input(val, mapper=None):
    """Return the items of a list, or of a text with commas between them."""
    mapper = mapper or (lambda item: item)
    if isinstance(val, list):
        return [mapper(item) for item in val]
    return [mapper(item.strip()) for item in str(val).split(",")]


def test_mode(**kwargs):
    """Report whether a keyword named test, in any case, is true."""
    from salt.utils.data import is_true

    return any(name.lower() == "test" and is_true(value) for name, value in kwargs.items())


test_mode.__test__ = False


def format_call(fun, data, initial_ret=None, expected_extra_kws=(), is_class_method=None):
    """Return {"args": [...], "kwargs": {...}} to call fun with what data has by name."""
    from salt.exceptions import SaltInvocationError

    made = dict(initial_ret) if initial_ret is not None else {}
    spec = get_function_argspec(fun, is_class_method=is_class_method)
    found = arg_lookup(fun, spec)
    args, words, given = [], dict(found["kwargs"]), dict(data)
    for name in found["args"]:
        if name in given:
            args.append(given.pop(name))
    for name in list(words):
        if name in given:
            words[name] = given.pop(name)
    made["args"], made["kwargs"] = args, words
    if len(args) < len(found["args"]):
        count = len(found["args"])
        raise SaltInvocationError("%s takes at least %d argument%s (%d given)" % (
            fun.__name__, count, "s" if count > 1 else "", len(args)))
    extra = {k: v for k, v in given.items()
             if k not in expected_extra_kws and not k.startswith("__")}
    if spec.keywords:
        words.update(given)
        return made
    extra = {k: v for k, v in extra.items() if k not in _STATE_WORDS}
    if extra:
        name = "%s.%s" % (data.get("state", data.get("__id__") and data.get("state")),
                          fun.__name__)
        names = ["'%s'" % k for k in extra]
        if len(names) == 1:
            text = "%s is an invalid keyword argument for '%s'" % (names[0], name)
        else:
            text = "%s and %s are invalid keyword arguments for '%s'" % (
                ", ".join(names[:-1]), names[-1], name)
        raise SaltInvocationError(text)
    return made


_STATE_WORDS = frozenset((
    "state", "fun", "name", "require", "require_in", "watch", "watch_in", "onchanges", "onfail",
    "prereq", "use", "order", "unless", "onlyif", "check_cmd", "retry", "parallel", "listen",
))


def parse_function(s):
    """Return (name, args, kwargs) of a call like f(1, a=2), all as text; else three times None."""
    text = s.strip()
    name, mark, rest = text.partition("(")
    if not mark or not rest.endswith(")") or not name:
        return None, None, None
    items, depth, quote = [""], 0, ""
    for c in rest[:-1]:
        if quote:
            if c == quote:
                quote = ""
                if depth == 0:
                    continue
            items[-1] += c
        elif c in "'\"":
            quote = c
            if depth:
                items[-1] += c
        elif c == "," and depth == 0:
            items.append("")
        elif c == " " and depth == 0 and not items[-1]:
            continue
        else:
            depth += (c in "[{(") - (c in "]})")
            items[-1] += c
    if quote or depth:
        return None, None, None
    args, words = [], {}
    for item in items:
        if not item:
            continue
        word, mark, value = item.partition("=")
        if mark and word.strip().isidentifier():
            words[word.strip()] = value
        else:
            args.append(item)
    return name, args, words


def prepare_kwargs(all_kwargs, class_init_kwargs):
    """Return the keywords of a class's __init__, and the others."""
    init = {k: v for k, v in all_kwargs.items() if k in class_init_kwargs}
    return init, {k: v for k, v in all_kwargs.items() if k not in init}
