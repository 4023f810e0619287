"""__salt__ and its like, to be imported by name."""


def __getattr__(name):
    from salt import _mirror, missing

    return _mirror.lent(name) if name in _mirror.LENT else missing(__name__, name)
