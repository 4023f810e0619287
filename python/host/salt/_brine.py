"""The way from the library to the worker that runs it.

Beside the operations that brinehost/worker.py lists, the library asks Brine for these:

    order ORDER                   publishes a job through the master of this host and returns what
                                  came back, as a list of (id, answer). ORDER is a dictionary with
                                  the fields of loader.Host.Order: tgt, tgt_type, fun, arg (with
                                  keywords as a last dictionary that has __kwarg__), and where they
                                  were given ret, jid, timeout, gather_job_timeout, ret_config,
                                  ret_kwargs, batch, failhard, metadata, module_executors,
                                  expect_minions and silent. fun and arg may be lists of functions
                                  and of their arguments. An answer has ret, retcode and jid; it is
                                  None for a minion that did not reply
    publish ORDER                 the same without waiting: {"jid": ..., "minions": [...]}
    returns JID                   what minions have returned to a job so far: {id: answer}
    fire WHERE TAG DATA           fires an event; WHERE is "minion" or "master". True if it was sent
    subscribe WHERE SOCK_DIR      begins to keep events for await. SOCK_DIR None is that of __opts__.
                                  False if nothing listens there
    await WHERE SOCK_DIR PREFIX SECONDS   the next event whose tag begins with PREFIX as (tag, data),
                                  or None when the time is over. Events count from the first await
                                  or subscribe of the worker, so that none is missed between two
                                  calls. SECONDS None waits for ever
    control KIND FUN ARGS KWARGS SHOW   runs a function of the master itself and returns its job:
                                  fun, jid, user, fun_args, return, success. KIND is runner or
                                  wheel. With SHOW the command salt-run prints the value
    control_async KIND FUN ARGS KWARGS   has the running master do the same and does not wait:
                                  {"jid": ..., "tag": ...}
    compile_pillar ID SALTENV PILLARENV OVERRIDE GRAINS   a fresh pillar; ID "" is this minion's
    compile_template PIPE TEXT PATH SALTENV SLS CONTEXT   renders TEXT, or the file PATH if TEXT is
                                  None, by the renderers of its first line or of PIPE and returns
                                  the data
    template_file URL SALTENV     while a file is rendered, the path on this host of one that it
                                  imports; None if there is none
    configuration ROLE PATH       the options of the file PATH with defaults, as a daemon of ROLE
                                  (minion, master, client, proxy) has them; None: the library
                                  reads the file by itself
    data_get DIR BANK KEY, data_set DIR BANK KEY VALUE, data_list DIR BANK, data_flush DIR BANK KEY,
    data_time DIR BANK KEY        the data cache below the cachedir DIR, with None for what is not
                                  there. DIR None is the cachedir of __opts__
    match TARGET TYPE DELIMITER GREEDY   the names of the minions that match, on a master
    sign FILE MESSAGE PASSPHRASE  the RSA signature (PKCS #1 v1.5, SHA-1) of bytes by a private key
    verify FILE MESSAGE SIGNATURE True if it is that of the key whose public part FILE has
    generate_keys DIRECTORY NAME BITS USER PASSPHRASE   makes NAME.pem and NAME.pub and returns the
                                  path of the former
    builtin_grains                the grains of Brine's own, without those of plug-ins

python/answers.go lists the answers. An operation that the program cannot perform raises
CommandExecutionError.
"""

_worker = None


def set_worker(worker):
    """Make worker the one of this process."""
    global _worker
    _worker = worker


def worker():
    """Return the worker of this process."""
    if _worker is None:
        raise RuntimeError("Salt's functions need Brine, and this process was not started by it")
    return _worker


def running():
    """Report whether there is a worker."""
    return _worker is not None


def call(operation, *arguments):
    """Return Brine's answer to an operation."""
    return worker().channel.call(operation, *arguments)


def functions(kind="modules"):
    """Return the functions of a kind by name."""
    return worker().functions(kind)


def opts():
    """Return the options of the daemon, which the caller does not modify."""
    return worker().fetch("opts")


def log(level, name, text):
    """Write to Brine's log without the module logging. level is a number of logging."""
    if _worker is not None:
        _worker.channel.log(level, name, text)
