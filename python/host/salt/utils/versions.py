"""Versions, as salt.utils.versions compares them."""

_TYPES = (str, bytes)


class _Ordered:
    """Comparison by a method _cmp, which returns a number or NotImplemented."""

    def _order(self, other, holds):
        found = self._cmp(other)
        return found if found is NotImplemented else holds(found)

    def __eq__(self, other):
        return self._order(other, lambda c: c == 0)

    def __lt__(self, other):
        return self._order(other, lambda c: c < 0)

    def __le__(self, other):
        return self._order(other, lambda c: c <= 0)

    def __gt__(self, other):
        return self._order(other, lambda c: c > 0)

    def __ge__(self, other):
        return self._order(other, lambda c: c >= 0)

    __hash__ = None

    def __repr__(self):
        return "%s ('%s')" % (type(self).__name__, self)

    def __str__(self):
        return self.vstring


def _sign(one, other):
    return (one > other) - (one < other)


class LooseVersion(_Ordered):
    """A version of any form: numbers and words between dots. Where they meet, words count more."""

    def __init__(self, vstring=None):
        if vstring:
            self.parse(vstring)

    def parse(self, vstring):
        """Take a version from text."""
        import re

        self.vstring = str(vstring)
        parts = [p for p in re.split(r"(\d+|[a-z]+|\.)", self.vstring) if p and p != "."]
        self.version = [int(p) if p.isdigit() else p for p in parts]

    def _cmp(self, other):
        if isinstance(other, str):
            other = type(self)(other)
        if not isinstance(other, LooseVersion):
            return NotImplemented
        for one, two in zip(self.version, other.version):
            if isinstance(one, str) != isinstance(two, str):
                one, two = str(one), str(two)
            if one != two:
                return _sign(one, two)
        return _sign(len(self.version), len(other.version))


class InvalidVersion(ValueError):
    """A version has not the form that it must have."""


class StrictVersion(_Ordered):
    """A version of the form 1.2.3, or with a1, b1 or rc1 before the release."""

    def __init__(self, vstring=None):
        if vstring:
            self.parse(vstring)

    def parse(self, vstring):
        """Take a version from text."""
        import re

        self.vstring = str(vstring)
        found = re.match(r"^v?(\d+(?:\.\d+)*)(?:[.-]?(a|b|c|rc|alpha|beta|pre)[.-]?(\d*))?"
                         r"(?:[.-]?post(\d*))?(?:[.-]?dev(\d*))?(?:\+[\w.]+)?$",
                         self.vstring.strip())
        if not found:
            raise InvalidVersion("Invalid version: '%s'" % vstring)
        numbers = [int(n) for n in found.group(1).split(".")]
        self.release = tuple(numbers)
        while len(numbers) > 1 and numbers[-1] == 0:
            numbers.pop()
        self.prerelease = (found.group(2)[0], int(found.group(3) or 0)) if found.group(2) else None
        early = ("dev",) if found.group(5) is not None and not self.prerelease else self.prerelease
        self._key = (numbers, 0 if early == ("dev",) else 1 if early else 2,
                     early or ("z", 0), int(found.group(4) or 0) if found.group(4) is not None
                     else -1)

    def _cmp(self, other):
        if isinstance(other, str):
            other = type(self)(other)
        if not isinstance(other, StrictVersion):
            return NotImplemented
        return _sign(self._key, other._key)

    def __repr__(self):
        return "<Version('%s')>" % self


Version = StrictVersion


def version_cmp(pkg1, pkg2, ignore_epoch=False):
    """Return -1, 0 or 1 for a version below, equal to or above another one; None if unknown."""

    def bare(version):
        text = str(version)
        return text.split(":", 1)[-1] if ignore_epoch else text

    try:
        return _sign_of(LooseVersion(bare(pkg1)), LooseVersion(bare(pkg2)))
    except Exception as exc:  # pylint: disable=broad-except
        from salt import _brine

        _brine.log(40, __name__, "Failed to compare %r and %r: %s" % (pkg1, pkg2, exc))
    return None


def _sign_of(one, other):
    return one._cmp(other)


_HOLDS = {
    "<": lambda c: c < 0, "<=": lambda c: c <= 0, "==": lambda c: c == 0, "!=": lambda c: c != 0,
    ">=": lambda c: c >= 0, ">": lambda c: c > 0,
}


def compare(ver1="", oper="==", ver2="", cmp_func=None, ignore_epoch=False):
    """Report whether ver1 OPER ver2 holds, for < <= == != >= >. cmp_func is like version_cmp."""
    if oper not in _HOLDS:
        from salt import _brine

        _brine.log(40, __name__, "Invalid operator '%s' for version comparison" % oper)
        return False
    found = (cmp_func or version_cmp)(ver1, ver2, **(
        {"ignore_epoch": True} if ignore_epoch else {}))
    return found is not None and _HOLDS[oper](found)


def warn_until(version, message, category=DeprecationWarning, stacklevel=None,
               _version_info_=None, _dont_call_warnings=False):
    """Warn of what a release will remove. From that release on RuntimeError is raised."""
    from salt.version import SaltStackVersion, __version_info__

    if isinstance(version, (tuple, list)):
        version = SaltStackVersion(*version)
    elif isinstance(version, int):
        version = SaltStackVersion(version)
    elif isinstance(version, str):
        version = SaltStackVersion.from_name(version)
    elif not isinstance(version, SaltStackVersion):
        raise RuntimeError("The 'version' argument should be passed as a tuple, integer, string "
                           "or an instance of 'salt.version.SaltStackVersion'.")
    info = _version_info_ if _version_info_ is not None else __version_info__
    if not isinstance(info, SaltStackVersion):
        info = SaltStackVersion(*info)
    if info >= version:
        raise RuntimeError("%s is reached, which removes this: %s"
                           % (version.formatted_version, message))
    if not _dont_call_warnings:
        import warnings

        warnings.warn(message.format(version=version.formatted_version), category,
                      stacklevel=3 if stacklevel is None else stacklevel)


def warn_until_date(date, message, category=DeprecationWarning, stacklevel=None,
                    _current_date=None, _dont_call_warnings=False):
    """Warn of what will be gone at a date (YYYYMMDD). From then on RuntimeError is raised."""
    import datetime

    if isinstance(date, str):
        date = datetime.datetime.strptime(date, "%Y%m%d").date()
    if (_current_date or datetime.date.today()) >= date:
        raise RuntimeError("%s is reached, which removes this: %s" % (date.isoformat(), message))
    if not _dont_call_warnings:
        import warnings

        warnings.warn(message.format(date=date.isoformat(), today=datetime.date.today()),
                      category, stacklevel=3 if stacklevel is None else stacklevel)


def kwargs_warn_until(kwargs, version, category=DeprecationWarning, stacklevel=None,
                      _version_info_=None, _dont_call_warnings=False):
    """Warn of keywords that a release will no longer take."""
    words = {k for k in kwargs if not k.startswith("__")}
    if words:
        warn_until(version, "The following parameter(s) have been deprecated and will be removed "
                   "in '{version}': %s." % ", ".join("'%s'" % k for k in sorted(words)),
                   category, stacklevel, _version_info_, _dont_call_warnings)


def check_boto_reqs(boto_ver=None, boto3_ver=None, botocore_ver=None, check_boto=True,
                    check_boto3=True):
    """Report whether boto, boto3 and botocore are there in these versions; else (False, reason)."""
    import importlib

    wanted = [("boto", boto_ver or "2.0.0")] if check_boto else []
    if check_boto3:
        wanted += [("boto3", boto3_ver or "1.2.6"), ("botocore", botocore_ver or "1.3.23")]
    for name, version in wanted:
        try:
            found = importlib.import_module(name).__version__
        except ImportError:
            return False, "A minimum version of %s %s is required" % (name, version)
        if version_cmp(found, version) < 0:
            return False, "A minimum version of %s %s is required. Installed: %s" % (
                name, version, found)
    return True
