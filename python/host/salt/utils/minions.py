"""What the master knows of minions, as salt.utils.minions finds it."""


def get_minion_data(minion, opts):
    """Return (name, grains, pillar) of a minion from the data cache; None for what is not there.

    Without a name it is the first minion that there is.
    """
    from salt import cache

    store = cache.factory(opts)
    if not minion:
        names = store.list("minions")
        if not names:
            return None, None, None
        minion = names[0]
    data = store.fetch("minions/%s" % minion, "data") or {}
    return minion, data.get("grains"), data.get("pillar")


class CkMinions:
    """Finds minions by targets."""

    def __init__(self, opts):
        self.opts = opts

    def check_minions(self, expr, tgt_type="glob", delimiter=":", greedy=True):
        """Return {"minions": [...], "missing": []} for a target."""
        from salt import _brine

        return {"minions": list(_brine.call("match", expr, tgt_type, delimiter, greedy) or []),
                "missing": []}
