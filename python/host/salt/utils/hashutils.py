"""Digests, as salt.utils.hashutils makes them. Text stands for its UTF-8."""


def _bytes(value):
    return value.encode() if isinstance(value, str) else bytes(value)


def _text(value):
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value


def base64_b64encode(instr):
    """Return base64 on one line."""
    import base64

    return base64.b64encode(_bytes(instr)).decode()


def base64_b64decode(instr):
    """Return what base64 stands for, as text where it is that."""
    import base64

    return _text(base64.b64decode(_bytes(instr)))


def base64_encodestring(instr):
    """Return base64 in lines of 76 characters."""
    import base64

    return base64.encodebytes(_bytes(instr)).decode()


def base64_decodestring(instr):
    """Return what base64 stands for, as text where it is that."""
    import base64

    return _text(base64.decodebytes(_bytes(instr)))


def _digest(name, value):
    import hashlib

    return hashlib.new(name, _bytes(value)).hexdigest()


def md5_digest(instr):
    """Return the hexadecimal MD5 digest."""
    return _digest("md5", instr)


def sha1_digest(instr):
    """Return the hexadecimal SHA-1 digest."""
    return _digest("sha1", instr)


def sha256_digest(instr):
    """Return the hexadecimal SHA-256 digest."""
    return _digest("sha256", instr)


def sha512_digest(instr):
    """Return the hexadecimal SHA-512 digest."""
    return _digest("sha512", instr)


def hmac_signature(string, shared_secret, challenge_hmac):
    """Report whether a base64 HMAC with SHA-256 is that of a text."""
    import base64
    import hashlib
    import hmac

    made = hmac.new(_bytes(shared_secret), _bytes(string), hashlib.sha256).digest()
    return hmac.compare_digest(made, base64.b64decode(_bytes(challenge_hmac)))


def hmac_compute(string, shared_secret):
    """Return the hexadecimal HMAC with SHA-256 of a text."""
    import hashlib
    import hmac

    return hmac.new(_bytes(shared_secret), _bytes(string), hashlib.sha256).hexdigest()


def random_hash(size=9999999999, hash_type=None):
    """Return the hexadecimal digest of a number chosen by chance below size."""
    import hashlib
    import random

    kind = getattr(hashlib, hash_type or "md5")
    return kind(str(random.SystemRandom().randint(0, size)).encode()).hexdigest()


def get_hash(path, form="sha256", chunk_size=65536):
    """Return the hexadecimal digest of a file."""
    import hashlib

    if not isinstance(form, str) or form not in hashlib.algorithms_available:
        raise ValueError("Invalid hash type: %s" % form)
    made = hashlib.new(form)
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(chunk_size), b""):
            made.update(chunk)
    return made.hexdigest()


class DigestCollector:
    """One digest of several files."""

    def __init__(self, form="sha256", buff=0x10000):
        import hashlib

        self._digest, self._buff = hashlib.new(form), buff

    def add(self, path):
        """Add a file."""
        with open(path, "rb") as file:
            for chunk in iter(lambda: file.read(self._buff), b""):
                self._digest.update(chunk)

    def digest(self):
        """Return the hexadecimal digest of all files."""
        return self._digest.hexdigest()
