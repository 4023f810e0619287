"""The version of Salt whose library this is like."""

# Names of Salt's releases: those with versions by date, and then one for each number.
_DATED = (
    ("Hydrogen", 2014, 1), ("Helium", 2014, 7), ("Lithium", 2015, 5), ("Beryllium", 2015, 8),
    ("Boron", 2016, 3), ("Carbon", 2016, 11), ("Nitrogen", 2017, 7), ("Oxygen", 2018, 3),
    ("Fluorine", 2019, 2),
)
_NUMBERED = (
    "Neon Sodium Magnesium Aluminium Silicon Phosphorus Sulfur Chlorine Argon Potassium Calcium "
    "Scandium Titanium Vanadium Chromium Manganese Iron Cobalt Nickel Copper Zinc Gallium Germanium"
).split()
_NAMES = {name.lower(): (year, month) for name, year, month in _DATED}
_NAMES.update({name.lower(): (3000 + at,) for at, name in enumerate(_NUMBERED)})


class SaltStackVersion:
    """A version of Salt's, such as 3006.1."""

    NAMES = {name.title(): info for name, info in _NAMES.items()}
    LNAMES = _NAMES
    VNAMES = {info: name for name, info in NAMES.items()}

    def __init__(self, major, minor=None, bugfix=None, mbugfix=0, pre_type=None, pre_num=None,
                 noc=0, sha=None):
        self.major = int(major)
        self.minor = int(minor) if minor is not None else None
        self.bugfix = int(bugfix) if bugfix is not None else None
        self.mbugfix, self.pre_type, self.pre_num = mbugfix or 0, pre_type or "", pre_num or 0
        self.noc, self.sha = int(noc or 0), sha

    @classmethod
    def parse(cls, version_string):
        """Return the version that a text says."""
        import re

        found = re.match(r"v?(\d{4})(?:\.(\d{1,3}))?(?:\.(\d{1,3}))?(?:\.(\d{1,3}))?"
                         r"(?:(rc|a|b|nb|alpha|beta)(\d+))?(?:\+(\d+)|-(\d+))?", version_string)
        if not found:
            raise ValueError("Unable to parse version string: '%s'" % version_string)
        year, minor, bugfix, mbugfix, kind, number, noc, older = found.groups()
        return cls(year, minor, bugfix, int(mbugfix or 0), kind, int(number or 0), noc or older)

    @classmethod
    def from_name(cls, name):
        """Return the version of a release's name."""
        if name.lower() not in _NAMES:
            raise ValueError("Named version '%s' is not known" % name)
        info = _NAMES[name.lower()]
        return cls(*info) if len(info) > 1 or info[0] < 3006 else cls(info[0], 0)

    @classmethod
    def from_last_named_version(cls):
        """Return the version that this library is like."""
        return cls.parse(__version__)

    @classmethod
    def next_release(cls):
        """Return the version after that."""
        return cls(cls.parse(__version__).major + 1)

    @property
    def sse(self):
        """Whether the version has no date."""
        return self.major >= 3000

    def _number(self):
        return (self.major, self.minor or 0, self.bugfix or 0, self.mbugfix,
                {"": 9, "rc": 3}.get(self.pre_type, 1), self.pre_num, self.noc)

    def min_info(self):
        """Return the parts of it that are set."""
        return list(self.info)

    @property
    def info(self):
        """The numbers of the version."""
        parts = (self.major,)
        if self.minor is not None:
            parts += (self.minor,)
        if self.bugfix is not None:
            parts += (self.bugfix,)
        return parts

    rc_info = pre_info = noc_info = full_info = property(_number)

    @property
    def string(self):
        """The version as text."""
        text = ".".join(str(n) if i == 0 or self.sse else str(n)
                        for i, n in enumerate(self.info))
        if self.mbugfix:
            text += ".%d" % self.mbugfix
        if self.pre_type:
            text += "%s%d" % (self.pre_type, self.pre_num)
        return text

    @property
    def name(self):
        """The name of the release; None if it has none."""
        for key in ((self.major,), (self.major, self.minor)):
            if key in self.VNAMES:
                return self.VNAMES[key]
        return None

    @property
    def formatted_version(self):
        """The version with the name of the release."""
        return "%s (%s)" % (self.string, self.name) if self.name else self.string

    def _ordered(self, other):
        if isinstance(other, str):
            return SaltStackVersion.parse(other)._number()
        if isinstance(other, (list, tuple)):
            return SaltStackVersion(*other)._number()
        return other._number() if isinstance(other, SaltStackVersion) else None

    def __eq__(self, other):
        return self._number() == self._ordered(other)

    def __lt__(self, other):
        return self._number() < self._ordered(other)

    def __le__(self, other):
        return self._number() <= self._ordered(other)

    def __gt__(self, other):
        return self._number() > self._ordered(other)

    def __ge__(self, other):
        return self._number() >= self._ordered(other)

    __hash__ = None

    def __str__(self):
        return self.string

    def __repr__(self):
        return "<SaltStackVersion name=%r version=%r>" % (self.name, self.string)


__saltstack_version__ = SaltStackVersion(3006, 18)  # as version.Salt() in Go
__version__ = __saltstack_version__.string
__version_info__ = __saltstack_version__.info


def versions_information(include_salt_cloud=False, include_extensions=True):
    """Return the versions of Salt's library and of Python."""
    import sys

    return {"Salt Version": {"Salt": __version__},
            "Dependency Versions": {"Python": sys.version.split("\n", 1)[0].strip()}}


def versions_report(include_salt_cloud=False, include_extensions=True):
    """Yield the lines of a report of versions."""
    for title, versions in versions_information().items():
        yield title + ":"
        for name, version in versions.items():
            yield "%12s: %s" % (name, version)
