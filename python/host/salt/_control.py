"""What RunnerClient and WheelClient have in common."""


class Client:
    """Calls functions of the master itself."""

    kind = ""

    def __init__(self, opts=None):
        self.opts = opts if opts is not None else {}

    @property
    def functions(self):
        """The functions by name."""
        from salt import _brine

        return _brine.functions("runners" if self.kind == "runner" else self.kind)

    def _job(self, fun, arg, kwarg, show=False):
        from salt import _brine

        given, words = _apart(arg)
        words.update(kwarg or {})
        return _brine.call("control", self.kind, fun, given, words, bool(show))

    def cmd(self, fun, arg=None, pub_data=None, kwarg=None, print_event=True, full_return=False):
        """Run a function and return its value; with full_return, its job.

        With print_event the command salt-run prints the value as well.
        """
        return _value(self._job(fun, arg, kwarg, print_event), full_return)

    def cmd_sync(self, low, timeout=None, full_return=False):
        """Run the function that low["fun"] names with its other keys, and return its value."""
        fun, arg, kwarg = _low(low)
        return _value(self._job(fun, arg, kwarg), full_return)

    def cmd_async(self, low):
        """Start the function that low["fun"] names and return {"jid": ..., "tag": ...}."""
        from salt import _brine

        fun, arg, kwarg = _low(low)
        return _brine.call("control_async", self.kind, fun, list(arg), kwarg)


def _apart(arg):
    """Return arguments as a list and a dictionary of those with a name."""
    given, words = [], {}
    for item in arg or ():
        if isinstance(item, dict) and item.get("__kwarg__") is True:
            words.update({k: v for k, v in item.items() if k != "__kwarg__"})
        elif isinstance(item, str):
            from salt.utils.args import parse_kwarg, yamlify_arg

            name, value = parse_kwarg(item)
            if name:
                words[name] = yamlify_arg(value)
            else:
                given.append(item)
        else:
            given.append(item)
    return given, words


def _low(low):
    from salt.utils.args import clean_kwargs

    words = dict(low)
    fun = words.pop("fun")
    given, named = _apart(words.pop("arg", ()))
    named.update(words.pop("kwarg", None) or {})
    for name in ("token", "username", "password", "eauth", "client", "user", "key",
                 "print_event", "full_return", "timeout"):
        words.pop(name, None)
    named.update(clean_kwargs(**words))
    return fun, given, named


def _value(job, full_return):
    job = job or {}
    if full_return:
        return {"return": job.get("return"), "success": job.get("success"), "data": job}
    return job.get("return")
