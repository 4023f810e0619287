"""Functions from functions, as salt.utils.functools makes them."""

import types


def namespaced_function(function, global_dict, defaults=None, preserve_context=None):
    """Return a copy of a function that finds the globals of another module."""
    names = dict(function.__globals__)
    names.update(global_dict)
    made = types.FunctionType(
        function.__code__, names, name=function.__name__,
        argdefs=defaults if defaults is not None else function.__defaults__,
        closure=function.__closure__)
    made.__dict__.update(function.__dict__)
    made.__doc__, made.__module__ = function.__doc__, global_dict.get("__name__")
    return made


def alias_function(fun, name, doc=None):
    """Return a copy of a function under another name."""
    made = types.FunctionType(fun.__code__, fun.__globals__, str(name), fun.__defaults__,
                              fun.__closure__)
    made.__dict__.update(fun.__dict__)
    made.__doc__ = doc if isinstance(doc, str) else (
        "\nThis function is an alias of ``%s``.\n%s" % (fun.__name__, fun.__doc__ or ""))
    return made


def call_function(salt_function, *args, **kwargs):
    """Call a function with arguments as a state gives them: dictionaries are keywords."""
    from salt.exceptions import SaltInvocationError
    from salt.utils.args import get_function_argspec

    spec = get_function_argspec(salt_function)
    given, words = [], dict(kwargs)
    for arg in args:
        if isinstance(arg, dict):
            words.update(arg)
        else:
            given.append(arg)
    needed = spec.args[: len(spec.args) - len(spec.defaults or ())][len(given):]
    missing = [name for name in needed if name not in words]
    if missing:
        raise SaltInvocationError("Missing arguments: %s" % ", ".join(missing))
    return salt_function(*given, **words)
