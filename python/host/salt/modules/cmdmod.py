"""The functions cmd.*, and those for programs that are not to be logged."""

from salt import _mirror

DEFAULT_SHELL = "/bin/sh"

__virtualname__ = "cmd"
__getattr__ = _mirror.attributes(__name__, "modules", "cmd")


def _quiet(function, cmd, args, kwargs):
    from salt import _brine

    names = ("cwd", "stdin", "runas", "shell", "python_shell", "env", "template", "umask",
             "timeout", "reset_system_locale", "saltenv", "pillarenv", "pillar_override")
    words = dict(zip(names, args))
    words.update(kwargs)
    words.pop("output_encoding", None)
    if not words.get("shell", True):
        del words["shell"]
    for name in ("pillarenv", "pillar_override", "success_retcodes", "success_stdout",
                 "success_stderr"):
        if words.get(name) is None:
            words.pop(name, None)
    words.update(output_loglevel="quiet", log_callback=None)
    return _brine.functions("modules")[function](cmd, **{k: v for k, v in words.items()
                                                         if v is not None})


def _run_quiet(cmd, *args, **kwargs):
    """Return the output of a program, which is not logged."""
    return _quiet("cmd.run", cmd, args, kwargs)


def _run_all_quiet(cmd, *args, **kwargs):
    """Return what cmd.run_all says of a program, which is not logged."""
    return _quiet("cmd.run_all", cmd, args, kwargs)


def _retcode_quiet(cmd, *args, **kwargs):
    """Return the exit status of a program, which is not logged."""
    return _quiet("cmd.retcode", cmd, args, kwargs)
