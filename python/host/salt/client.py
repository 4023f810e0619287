"""Clients, as salt.client has them: jobs for minions, and functions of this one."""


def get_local_client(c_path="/etc/salt/master", mopts=None, skip_perm_errors=False, io_loop=None,
                     auto_reconnect=False, listen=False):
    """Return a LocalClient."""
    return LocalClient(c_path, mopts=mopts)


NO_RESPONSE = (
    "Minion did not return. [No response]\nThe minions may not have all finished running and any "
    "remaining minions will return upon completion. To look up the return data for this job later, "
    "run the following command:\n\nsalt-run jobs.lookup_jid %s")


def _reported(answer, jid):
    """Return an answer, with a text in place of that of a minion whose key is not accepted."""
    if answer.get("failed") is True:
        return {"out": "no_return", "ret": NO_RESPONSE % jid, "retcode": 1}
    return answer


def _with(arg, kwarg):
    from salt.utils.args import condition_input

    if isinstance(arg, str):
        arg = [arg]
    return condition_input(list(arg or ()), kwarg or {})


class LocalClient:
    """Publishes jobs through the master on this host."""

    def __init__(self, c_path="/etc/salt/master", mopts=None, skip_perm_errors=False,
                 io_loop=None, keep_loop=False, auto_reconnect=False, listen=False):
        self._path, self._opts = c_path, mopts

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.destroy()

    def destroy(self):
        """End the use of the client."""

    @property
    def opts(self):
        """The options of the master."""
        if self._opts is None:
            from salt import config

            self._opts = config.client_config(self._path)
        return self._opts

    @property
    def event(self):
        """The bus of the master."""
        from salt.utils import event

        return event.get_event("master", opts=self._opts or {}, listen=False)

    @staticmethod
    def _order(tgt, fun, arg, tgt_type, ret, kwarg, timeout=None, jid="", **more):
        if "expr_form" in more:
            tgt_type = more.pop("expr_form")
        if isinstance(tgt, (tuple, set, frozenset)):
            tgt = list(tgt)
        order = {"tgt": tgt, "fun": list(fun) if isinstance(fun, tuple) else fun, "tgt_type": tgt_type,
                 "arg": [list(a) if isinstance(a, (list, tuple)) else a for a in arg]
                 if isinstance(fun, (list, tuple)) else _with(arg, kwarg)}
        if isinstance(fun, (list, tuple)) and kwarg:
            order["arg"] = [_with(a, kwarg) for a in order["arg"]]
        for name, value in (("ret", ret), ("jid", jid), ("timeout", timeout)):
            if value:
                order[name] = value
        for name in ("gather_job_timeout", "ret_config", "ret_kwargs", "batch", "failhard", "user",
                     "metadata", "expect_minions", "silent", "module_executors", "delimiter"):
            if more.get(name) is not None:
                order[name] = more[name]
        return order

    @staticmethod
    def _replies(order):
        from salt import _brine

        return _brine.call("order", order)

    @staticmethod
    def _published(order):
        from salt import _brine

        return _brine.call("publish", order)

    def cmd(self, tgt, fun, arg=(), timeout=None, tgt_type="glob", ret="", jid="",
            full_return=False, kwarg=None, **kwargs):
        """Run a function on minions and return {id: value}.

        full_return=True returns for each {"ret": value, "retcode": ..., "jid": ...}.
        """
        if not jid:
            from salt.utils.jid import gen_jid

            jid = gen_jid()
        kwargs.setdefault("expect_minions", False)
        order = self._order(tgt, fun, arg, tgt_type, ret, kwarg, timeout, jid, **kwargs)
        found = {name: _reported(answer, jid)
                 for name, answer in self._replies(order) if answer is not None}
        if full_return:
            return found
        return {name: answer.get("ret") for name, answer in found.items()}

    def cmd_async(self, tgt, fun, arg=(), tgt_type="glob", ret="", jid="", kwarg=None, **kwargs):
        """Start a job and return its id; 0 if no minion matches."""
        order = self._order(tgt, fun, arg, tgt_type, ret, kwarg, None, jid, **kwargs)
        return (self._published(order) or {}).get("jid", 0)

    def run_job(self, tgt, fun, arg=(), tgt_type="glob", ret="", timeout=None, jid="", kwarg=None,
                listen=False, **kwargs):
        """Start a job and return {"jid": ..., "minions": [...]}; {} if no minion matches."""
        order = self._order(tgt, fun, arg, tgt_type, ret, kwarg, timeout, jid, **kwargs)
        return self._published(order) or {}

    pub = run_job

    def cmd_subset(self, tgt, fun, arg=(), tgt_type="glob", ret="", kwarg=None, subset=3,
                   cli=False, progress=False, full_return=False, **kwargs):
        """Run a function on some of the minions that match, chosen by chance."""
        import random

        found = list(self.cmd(tgt, "sys.list_functions", tgt_type=tgt_type, **kwargs).items())
        random.shuffle(found)
        name = fun[0] if isinstance(fun, (list, tuple)) else fun
        able = [minion for minion, functions in found if name in (functions or ())][:subset]
        if cli:
            return self.cmd_cli(able, fun, arg, kwargs.get("timeout"), "list", ret, kwarg=kwarg)
        return self.cmd(able, fun, arg, tgt_type="list", ret=ret, kwarg=kwarg,
                        full_return=full_return, **kwargs)

    def cmd_batch(self, tgt, fun, arg=(), tgt_type="glob", ret="", kwarg=None, batch="10%",
                  **kwargs):
        """Run a function on a part of the minions after the other, and yield {id: value}."""
        raw = kwargs.pop("raw", False)
        order = self._order(tgt, fun, arg, tgt_type, ret, kwarg, batch=batch, **kwargs)
        for name, answer in self._replies(order):
            if answer is not None:
                yield dict(answer, id=name) if raw else {name: answer.get("ret")}

    def cmd_iter(self, tgt, fun, arg=(), timeout=None, tgt_type="glob", ret="", kwarg=None,
                 **kwargs):
        """Run a function on minions and yield {id: {"ret": value, ...}}."""
        kwargs.setdefault("expect_minions", False)
        order = self._order(tgt, fun, arg, tgt_type, ret, kwarg, timeout, **kwargs)
        for name, answer in self._replies(order):
            if answer is not None:
                yield {name: answer}

    def cmd_iter_no_block(self, tgt, fun, arg=(), timeout=None, tgt_type="glob", ret="",
                          kwarg=None, show_jid=False, verbose=False, **kwargs):
        """The same as cmd_iter; None means that no answer has come yet."""
        order = self._order(tgt, fun, arg, tgt_type, ret, kwarg, timeout, **kwargs)
        for name, answer in self._replies(order):
            yield {name: answer} if answer is not None else None

    def cmd_cli(self, tgt, fun, arg=(), timeout=None, tgt_type="glob", ret="", verbose=False,
                kwarg=None, progress=False, **kwargs):
        """Run a function on minions and yield what the command line prints of each."""
        yield from self.cmd_iter(tgt, fun, arg, timeout, tgt_type, ret, kwarg, **kwargs)

    def cmd_full_return(self, tgt, fun, arg=(), timeout=None, tgt_type="glob", ret="",
                        verbose=False, kwarg=None, **kwargs):
        """Run a function on minions and return {id: {"ret": value, "success": True}}."""
        found = self.cmd(tgt, fun, arg, timeout, tgt_type, ret, full_return=True, kwarg=kwarg,
                         **kwargs)
        full = {}
        for name, answer in found.items():
            full[name] = {"ret": answer.get("ret"),
                          "success": answer.get("success", not answer.get("retcode"))}
            if answer.get("out"):
                full[name]["out"] = answer["out"]
        return full

    def get_cache_returns(self, jid):
        """Return what minions have returned to a job so far."""
        from salt import _brine

        return _brine.call("returns", jid) or {}

    get_full_returns_so_far = get_cache_returns

    def get_returns(self, jid, minions, timeout=None):
        """Return {id: value} of a job once its minions have answered, or after timeout seconds."""
        return {name: answer.get("ret")
                for name, answer in self.get_full_returns(jid, minions, timeout).items()}

    def get_full_returns(self, jid, minions, timeout=None):
        """Return {id: {"ret": value, ...}} of a job in the same way."""
        import time

        end = time.time() + (timeout or 5)
        while True:
            found = {n: a for n, a in self.get_cache_returns(jid).items() if n in minions}
            if len(found) >= len(set(minions)) or time.time() >= end:
                return found
            time.sleep(0.1)

    def get_iter_returns(self, jid, minions, timeout=None, tgt="*", tgt_type="glob",
                         expect_minions=False, block=True, **kwargs):
        """Yield {id: {"ret": value, ...}} of a job as minions answer."""
        import time

        end, told = time.time() + (timeout or 5), set()
        while True:
            for name, answer in self.get_cache_returns(jid).items():
                if name in minions and name not in told:
                    told.add(name)
                    yield {name: answer}
            if told >= set(minions) or time.time() >= end:
                return
            time.sleep(0.1)

    get_cli_returns = get_event_iter_returns = get_iter_returns

    def gather_minions(self, tgt, expr_form):
        """Return the names of the minions that match."""
        return sorted(self.cmd(tgt, "test.ping", tgt_type=expr_form))


class Caller:
    """Calls the functions of this minion."""

    def __init__(self, c_path="/etc/salt/minion", mopts=None):
        self._path, self._opts = c_path, mopts

    @property
    def opts(self):
        """The options of the minion."""
        if self._opts is None:
            from salt import config

            self._opts = config.minion_config(self._path)
        return self._opts

    def cmd(self, fun, *args, **kwargs):
        """Call a function with the arguments of a command line, which are read as YAML."""
        from salt import _brine
        from salt.utils.args import parse_input

        given, words = parse_input(list(args), condition=False)
        words.update(kwargs)
        return _brine.functions("modules")[fun](*given, **words)

    def function(self, fun, *args, **kwargs):
        """Call a function."""
        from salt import _brine

        return _brine.functions("modules")[fun](*args, **kwargs)


ProxyCaller = Caller


class FunctionWrapper(dict):
    """The functions of minions as those of a dictionary."""

    def __init__(self, opts, minion):
        super().__init__()
        self.opts, self.minion, self.local = opts, minion, LocalClient(mopts=opts)

    def __missing__(self, key):
        def run(*args, **kwargs):
            found = self.local.cmd(self.minion, key, args, kwarg=kwargs)
            return found.get(self.minion)

        self[key] = run
        return run
