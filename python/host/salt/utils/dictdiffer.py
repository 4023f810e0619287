"""Differences of dictionaries, as salt.utils.dictdiffer finds them."""

from collections.abc import Mapping


class DictDiffer:
    """The keys in which a dictionary differs from its past."""

    def __init__(self, current_dict, past_dict):
        self.current_dict, self.past_dict = current_dict, past_dict
        self.set_current, self.set_past = set(current_dict), set(past_dict)
        self.intersect = self.set_current & self.set_past

    def same(self):
        """Report whether nothing differs."""
        return self.current_dict == self.past_dict

    def added(self):
        """Return the keys that are new."""
        return self.set_current - self.intersect

    def removed(self):
        """Return the keys that are gone."""
        return self.set_past - self.intersect

    def changed(self):
        """Return the keys whose values differ."""
        return {k for k in self.intersect if self.past_dict[k] != self.current_dict[k]}

    def unchanged(self):
        """Return the keys whose values are the same."""
        return {k for k in self.intersect if self.past_dict[k] == self.current_dict[k]}


def diff(current_dict, past_dict):
    """Return the DictDiffer of two dictionaries."""
    return DictDiffer(current_dict, past_dict)


def deep_diff(old, new, ignore=None):
    """Return what differs as {"old": ..., "new": ...}, without equal parts and keys to ignore."""
    ignored = ignore or []
    before, after = {}, {}
    for key in list(old) + [k for k in new if k not in old]:
        if key in ignored:
            continue
        if key not in new:
            before[key] = old[key]
        elif key not in old:
            after[key] = new[key]
        elif old[key] == new[key]:
            continue
        elif isinstance(old[key], Mapping) and isinstance(new[key], Mapping):
            inner = deep_diff(old[key], new[key])
            # A side that has nothing else there is shown as the empty dictionary that it is.
            if "old" in inner or not old[key]:
                before[key] = inner.get("old", {})
            if "new" in inner or not new[key]:
                after[key] = inner.get("new", {})
        else:
            before[key], after[key] = old[key], new[key]
    found = {}
    if before:
        found["old"] = before
    if after:
        found["new"] = after
    return found


def recursive_diff(past_dict, current_dict, ignore_missing_keys=True):
    """Return the RecursiveDictDiffer of two dictionaries."""
    return RecursiveDictDiffer(past_dict, current_dict, ignore_missing_keys)


class RecursiveDictDiffer(DictDiffer):
    """The keys, as paths like a.b, in which a dictionary differs from its past.

    With ignore_missing_keys, what the current dictionary does not have is no difference.
    """

    NONE_VALUE = "<_null_>"

    def __init__(self, past_dict, current_dict, ignore_missing_keys):
        super().__init__(current_dict, past_dict)
        self._diffs = self._compare(current_dict, past_dict, ignore_missing_keys)
        self.ignore_unset_values = True

    @classmethod
    def _compare(cls, current, past, ignore_missing):
        found = {}
        for key in current:
            old, new = past.get(key, cls.NONE_VALUE), current[key]
            if key in past and isinstance(old, dict) and isinstance(new, dict):
                inner = cls._compare(new, old, ignore_missing)
                if inner:
                    found[key] = inner
            elif key not in past or old != new:
                found[key] = {"new": new, "old": old}
        if not ignore_missing:
            for key in past:
                if key not in current:
                    found[key] = {"new": cls.NONE_VALUE, "old": past[key]}
        return found

    @staticmethod
    def _leaf(value):
        return isinstance(value, dict) and set(value) == {"new", "old"}

    def _values(self, which, unset):
        def pick(differences):
            found = {}
            for key, value in differences.items():
                if not self._leaf(value):
                    found[key] = pick(value)
                elif value[which] != self.NONE_VALUE or not unset:
                    found[key] = value[which]
            return found

        return pick(self._diffs)

    def _leaves(self, differences=None, prefix=""):
        """Yield (prefix, key, old, new) of each difference."""
        for key, value in sorted((self._diffs if differences is None else differences).items(),
                                 key=lambda item: str(item[0])):
            if self._leaf(value):
                yield prefix, key, value["old"], value["new"]
            else:
                yield from self._leaves(value, "%s%s\0" % (prefix, key))

    def _gone(self, one, other, include_nested, separator):
        found = []
        for prefix, key, old, new in self._leaves():
            values = {"old": old, "new": new}
            if values[one] != self.NONE_VALUE or values[other] == self.NONE_VALUE:
                continue
            path = (prefix + str(key)).replace("\0", separator)
            found.append(path)
            if include_nested:
                found += self._below(values[other], path, separator)
        return found

    @classmethod
    def _below(cls, value, path, separator):
        found = []
        if isinstance(value, dict):
            for key, inner in value.items():
                found.append("%s%s%s" % (path, separator, key))
                found += cls._below(inner, found[-1], separator)
        return found

    def added(self, include_nested=False, separator="."):
        """Return the paths that are new; with include_nested, all below them too."""
        return sorted(self._gone("old", "new", include_nested, separator))

    def removed(self, include_nested=False, separator="."):
        """Return the paths that are gone; with include_nested, all below them too."""
        return sorted(self._gone("new", "old", include_nested, separator))

    def changed(self, separator="."):
        """Return the paths whose values differ."""
        return sorted(
            (prefix + str(key)).replace("\0", separator)
            for prefix, key, old, new in self._leaves()
            if not self.ignore_unset_values or self.NONE_VALUE not in (old, new)
        )

    def unchanged(self, separator="."):
        """Return the paths whose values are the same."""

        def same(current, differences, prefix):
            found = []
            for key in current:
                path = "%s%s" % (prefix, key)
                if key not in differences:
                    found += self._below_or_self(current[key], path, separator)
                elif not self._leaf(differences[key]):
                    found += same(current[key], differences[key], path + separator)
            return found

        return sorted(same(self.current_dict, self._diffs, ""))

    @staticmethod
    def _below_or_self(value, path, separator):
        return [path]

    @property
    def diffs(self):
        """The differences: each is {"new": ..., "old": ...} in the place of its key."""
        return self._diffs

    @property
    def new_values(self):
        """The differences with the new values alone."""
        return self._values("new", False)

    @property
    def old_values(self):
        """The differences with the old values alone."""
        return self._values("old", False)

    @property
    def changes_str(self):
        """The differences in words."""

        def shown(value):
            if isinstance(value, str):
                return "nothing" if value == self.NONE_VALUE else "'%s'" % value
            return str(value)

        def told(differences, indent):
            out = []
            for key in sorted(differences, key=str):
                value = differences[key]
                if self._leaf(value):
                    out.append("%s%s from %s to %s"
                               % (indent, key, shown(value["old"]), shown(value["new"])))
                else:
                    out.append("%s%s:" % (indent, key))
                    out += told(value, indent + "  ")
            return out

        return "\n".join(told(self._diffs, ""))
