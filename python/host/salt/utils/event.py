"""Events, as salt.utils.event has them, over Brine's bus."""

SALT = "salt"
TAGEND = "\n\n"
TAGPARTER = "/"
SUB_EVENT = ("state.highstate", "state.sls")
TAGS = {
    "auth": "auth", "job": "job", "key": "key", "minion": "minion", "syndic": "syndic",
    "run": "run", "wheel": "wheel", "cloud": "cloud", "fileserver": "fileserver",
    "queue": "queue",
}


def get_event(node, sock_dir=None, transport=None, opts=None, listen=True, io_loop=None,
              keep_loop=False, raise_errors=False):
    """Return the bus of the minion or of the master: node is minion or master."""
    if node == "master":
        return MasterEvent(sock_dir, opts, listen=listen, raise_errors=raise_errors)
    return SaltEvent(node, sock_dir, opts, listen=listen, raise_errors=raise_errors)


def get_master_event(opts, sock_dir, listen=True, io_loop=None, raise_errors=False,
                     keep_loop=False):
    """Return the bus of the master."""
    return MasterEvent(sock_dir, opts, listen=listen, raise_errors=raise_errors)


def tagify(suffix="", prefix="", base=SALT):
    """Return a tag of parts with / between them."""
    parts = [base, TAGS.get(prefix, prefix)]
    if hasattr(suffix, "append"):
        parts += suffix
    else:
        parts.append(suffix)
    return TAGPARTER.join(str(part) for part in parts if part or part == 0)


def fire_args(opts, jid, tag_data, prefix=""):
    """Fire an event that says what a call did: tag_data is (tag, data)."""
    try:
        tag, data = tag_data
    except (TypeError, ValueError):
        return
    with get_event("master", opts=opts, listen=False) as bus:
        bus.fire_event(data, tagify(tag, prefix))


def _startswith(name, tag):
    return name.startswith(tag)


def _matcher(match_type):
    """Return the function that compares tags in a way: startswith, endswith, find and so on."""
    if match_type == "endswith":
        return lambda name, tag: name.endswith(tag)
    if match_type == "find":
        return lambda name, tag: tag in name
    if match_type == "regex":
        import re

        return lambda name, tag: re.match(tag, name) is not None
    if match_type == "fnmatch":
        import fnmatch

        return fnmatch.fnmatch
    return _startswith


class SaltEvent:
    """A bus of events: fire_event sends one, get_event and iter_events receive them."""

    def __init__(self, node, sock_dir=None, opts=None, listen=True, io_loop=None,
                 keep_loop=False, raise_errors=False):
        self.node = "master" if node == "master" else "minion"
        self.opts = opts if opts is not None else {}
        self.sock_dir = sock_dir or self.opts.get("sock_dir")
        self.raise_errors = raise_errors
        self.cpub = self.cpush = True
        self.subscribed = False
        self.pending_tags, self.pending_events = [], []
        if listen:
            self.connect_pub()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.destroy()

    def connect_pub(self, timeout=None):
        """Begin to keep events."""
        if not self.subscribed:
            from salt import _brine

            if _brine.running():
                self.subscribed = bool(_brine.call("subscribe", self.node, self.sock_dir))
        return self.subscribed

    def close_pub(self):
        """Keep no more events."""
        self.subscribed = False

    def connect_pull(self, timeout=1):
        """Report that events can be fired."""
        return True

    def close_pull(self):
        """Do nothing."""

    def subscribe(self, tag=None, match_type=None):
        """Begin to keep events."""
        self.connect_pub()

    def unsubscribe(self, tag=None, match_type=None):
        """Do nothing: events are kept until destroy."""

    def get_event(self, wait=5, tag="", full=False, match_type=None, no_block=False,
                  auto_reconnect=False):
        """Return the data of the next event whose tag begins with tag, or None after wait seconds.

        full=True returns {"tag": ..., "data": ...}. match_type is startswith, endswith, find, regex
        or fnmatch. With wait=None it waits for ever, and with no_block=True not at all.
        """
        import time

        matches = _matcher(match_type or self.opts.get("event_match_type", "startswith"))
        end = None
        if no_block:
            end = time.time()
        elif wait:
            end = time.time() + wait
        while True:
            found = self._next(tag if matches is _startswith else "", end)
            if found is None:
                return None
            name, data = found
            if matches(name, tag or ""):
                return {"tag": name, "data": data} if full else data

    def _next(self, prefix, end):
        """Return the next event whose tag begins with prefix as (tag, data), or None after end."""
        import time

        from salt import _brine

        left = None if end is None else max(0.0, end - time.time())
        return _brine.call("await", self.node, self.sock_dir, prefix or "", left)

    def get_event_noblock(self):
        """Return the next event whole, or None if there is none."""
        return self.get_event(no_block=True, full=True)

    def get_event_block(self):
        """Return the next event whole."""
        return self.get_event(wait=None, full=True)

    def iter_events(self, tag="", full=False, match_type=None, auto_reconnect=False):
        """Yield events for ever."""
        while True:
            event = self.get_event(wait=None, tag=tag, full=full, match_type=match_type)
            if event is not None:
                yield event

    def fire_event(self, data, tag, timeout=1000):
        """Fire an event and report whether it was sent."""
        from salt import _brine

        if not str(tag):
            raise ValueError("Empty tag.")
        if not isinstance(data, dict) and not hasattr(data, "items"):
            raise ValueError("Dict object expected, not '%s'." % (data,))
        return bool(_brine.call("fire", self.node, str(tag), dict(data)))

    def fire_event_async(self, data, tag, cb=None, timeout=1000):
        """The same as fire_event."""
        return self.fire_event(data, tag, timeout)

    def fire_master(self, data, tag, timeout=1000):
        """Fire an event on the bus of the master."""
        from salt import _brine

        return bool(_brine.call("fire", "master", str(tag), dict(data)))

    def destroy(self):
        """End the use of the bus."""
        self.subscribed = False


class MasterEvent(SaltEvent):
    """The bus of the master."""

    def __init__(self, sock_dir=None, opts=None, listen=True, io_loop=None, keep_loop=False,
                 raise_errors=False):
        super().__init__("master", sock_dir, opts, listen, io_loop, keep_loop, raise_errors)


class LocalClientEvent(MasterEvent):
    """The bus of the master, as clients use it."""


class MinionEvent(SaltEvent):
    """The bus of the minion."""

    def __init__(self, opts=None, listen=True, io_loop=None, raise_errors=False):
        super().__init__("minion", None, opts, listen, io_loop, False, raise_errors)


class NamespacedEvent:
    """A bus whose tags begin with a base."""

    def __init__(self, event, base, print_func=None):
        self.event, self.base, self.print_func = event, base, print_func

    def fire_event(self, data, tag):
        """Fire an event."""
        self.event.fire_event(data, tagify(tag, base=self.base))
        if self.print_func is not None:
            self.print_func(tag, data)

    def destroy(self):
        """End the use of the bus."""
        self.event.destroy()
