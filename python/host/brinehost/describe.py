"""What Brine is told of functions and of exceptions, without the slow module inspect."""

import os
import sys
import time

# Seconds. A younger file is compiled anew: Python's cache of compiled files is by the second of the
# change and the size, which two changes can share.
YOUNG = 2

_suffixes = None


def extension_suffixes():
    global _suffixes
    if _suffixes is None:
        import _imp

        _suffixes = _imp.extension_suffixes()
    return _suffixes


def mentions(path, name):
    """Report whether a file has a name in quotes, as that of a plug-in that calls itself so."""
    if os.path.isdir(path):
        path = os.path.join(path, "__init__.py")
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return False
    quoted = name.encode()
    return b'"' + quoted + b'"' in text or b"'" + quoted + b"'" in text


def execute(module, path, worker):
    """Run the file at path as the top level of module."""
    import _frozen_importlib as bootstrap
    import _frozen_importlib_external as external

    if path.endswith(tuple(extension_suffixes())):
        loader = external.ExtensionFileLoader(module.__name__, path)
    else:
        loader = external.SourceFileLoader(module.__name__, path)
        with open(path, "rb") as file:
            source = file.read()
            old = time.time() - os.fstat(file.fileno()).st_mtime > YOUNG
        if b"logging" in source:
            worker.follow_logging()
    module.__loader__ = loader
    module.__spec__ = bootstrap.spec_from_loader(module.__name__, loader, origin=path)
    if hasattr(module, "__path__"):
        module.__spec__.submodule_search_locations = module.__path__
    if isinstance(loader, external.ExtensionFileLoader):
        made = loader.create_module(module.__spec__)
        loader.exec_module(made)
        module.__dict__.update(made.__dict__)
        return
    code = loader.get_code(module.__name__) if old else loader.source_to_code(source, path)
    exec(code, module.__dict__)


def function(name, f):
    """Return what Brine needs to know of a function: a dictionary without objects.

    A decorated function has the parameters of the one below it (functools.wraps), as in Salt.
    """
    params, defaults, args, kwargs, keyword_only = _parameters(f)
    return {
        "name": name,
        "def": f.__name__,
        "doc": f.__doc__ if isinstance(f.__doc__, str) else None,
        "params": params,
        "defaults": defaults,
        "args": args,
        "kwargs": kwargs,
        "keyword_only": keyword_only,
    }


def _parameters(f):
    """Return names, defaults, *args, **kwargs and keyword-only names of a function's parameters.

    Those that can only be passed by position do not count (salt/utils/args.py,
    get_function_argspec).
    """
    while hasattr(f, "__wrapped__"):
        f = f.__wrapped__
    code = getattr(f, "__code__", None)
    if code is None or hasattr(f, "__signature__"):
        return _of_signature(f)
    count, only, names = code.co_argcount, code.co_posonlyargcount, code.co_varnames
    defaults = list(f.__defaults__ or ())[-(count - only) :] if count > only else []
    at = count + code.co_kwonlyargcount
    args = kwargs = None
    if code.co_flags & 0x04:
        args = names[at]
        at += 1
    if code.co_flags & 0x08:
        kwargs = names[at]
    return list(names[only:count]), defaults, args, kwargs, list(names[count : count + code.co_kwonlyargcount])


def _of_signature(f):
    import inspect

    params, defaults, args, kwargs, keyword_only = [], [], None, None, []
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return [], [], "args", "kwargs", []
    for p in signature.parameters.values():
        if p.kind == p.POSITIONAL_OR_KEYWORD:
            params.append(p.name)
            if p.default is not p.empty:
                defaults.append(p.default)
        elif p.kind == p.VAR_POSITIONAL:
            args = p.name
        elif p.kind == p.VAR_KEYWORD:
            kwargs = p.name
        elif p.kind == p.KEYWORD_ONLY:
            keyword_only.append(p.name)
    return params, defaults, args, kwargs, keyword_only


def reason(exc):
    """The text of an exception that kept a file from being loaded."""
    if isinstance(exc, SyntaxError) and exc.filename:
        return "%s (%s, line %s)" % (exc.msg, os.path.basename(exc.filename), exc.lineno)
    return str(exc)


def traceback(exc):
    """The traceback of an exception without the frames of this program and of its library salt."""
    import traceback as tb

    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
    lines = tb.TracebackException.from_exception(exc)
    link = lines
    while link is not None:
        kept = [frame for frame in link.stack if not frame.filename.startswith((own, "<frozen"))]
        link.stack[:] = kept
        link = link.__cause__ or link.__context__
    return "".join(lines.format()).rstrip("\n")


def raised(exc):
    """Return the class, text and details of an exception, for Brine."""
    kinds = [k.__name__ for k in type(exc).__mro__ if k is not object]
    details = {"kinds": kinds, "traceback": traceback(exc)}
    if isinstance(exc, SystemExit):
        details["code"] = exc.code if isinstance(exc.code, int) else 0 if exc.code is None else 1
    info = getattr(exc, "info", None)
    if info is not None:
        details["info"] = info
        details["plain"] = getattr(exc, "error", None)
    try:
        text = str(exc)
    except Exception as second:
        text = "<exception str() failed: %s>" % type(second).__name__
    return _class_name(type(exc)), text, details


def _class_name(kind):
    """The name of a class as the last line of a traceback has it."""
    if kind.__module__ in ("builtins", "__main__"):
        return kind.__qualname__
    return "%s.%s" % (kind.__module__, kind.__qualname__)


def build(name, text, details):
    """Return the exception that Brine answers with."""
    import builtins

    if name not in builtins.__dict__:
        from salt import exceptions

        kind = getattr(exceptions, name, exceptions.CommandExecutionError)
    else:
        kind = builtins.__dict__[name]
    if not (isinstance(kind, type) and issubclass(kind, BaseException)):
        kind = RuntimeError
    info = details.get("info")
    try:
        if info is not None:
            return kind(details.get("plain", text), info=info)
        return kind(text)
    except TypeError:
        return RuntimeError("%s: %s" % (name, text))
