"""Keys and signatures, as salt.crypt makes them: by Brine."""


def sign_message(privkey_path, message, passphrase=None):
    """Return the signature of a message by the private key of a file."""
    from salt import _brine

    return _brine.call("sign", str(privkey_path), _bytes(message), passphrase or "")


def verify_signature(pubkey_path, message, signature):
    """Report whether a signature is that of a message by the key whose public part a file has."""
    from salt import _brine

    return bool(_brine.call("verify", str(pubkey_path), _bytes(message), _bytes(signature)))


def gen_keys(keydir, keyname, keysize, user=None, passphrase=None):
    """Make a new key, NAME.pem and NAME.pub in a directory, and return the path of the former."""
    from salt import _brine

    return _brine.call("generate_keys", str(keydir), keyname, int(keysize), user or "",
                       passphrase or "")


def _bytes(value):
    return value.encode() if isinstance(value, str) else bytes(value)
