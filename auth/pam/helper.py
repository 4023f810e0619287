"""Ask PAM whether a login is right, for a program that is linked with no C library.

Standard input: service, name and password, with a NUL after each. The exit code is 0 if the password is right and the
account may be used now, 1 if not, and 2 with a reason on standard error if PAM cannot say.
"""
import ctypes
import ctypes.util
import sys

ECHO_OFF = 1


class Message(ctypes.Structure):
    _fields_ = [("style", ctypes.c_int), ("text", ctypes.c_char_p)]


class Response(ctypes.Structure):
    _fields_ = [("text", ctypes.c_void_p), ("code", ctypes.c_int)]


CONVERSE = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_int,
    ctypes.POINTER(ctypes.POINTER(Message)),
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_void_p,
)


class Conversation(ctypes.Structure):
    _fields_ = [("converse", CONVERSE), ("data", ctypes.c_void_p)]


def main():
    fields = sys.stdin.buffer.read(1 << 14).split(b"\0")
    if len(fields) != 4 or fields[3]:
        raise ValueError("the input is not service, name and password")
    service, name, password = fields[:3]
    libc = ctypes.CDLL(None)
    libc.calloc.restype = libc.strdup.restype = ctypes.c_void_p
    libc.calloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
    libc.strdup.argtypes = [ctypes.c_char_p]
    try:
        pam = ctypes.CDLL("libpam.so.0")
    except OSError:
        pam = ctypes.CDLL(ctypes.util.find_library("pam"))

    @CONVERSE
    def converse(count, messages, responses, _):
        memory = libc.calloc(count, ctypes.sizeof(Response))
        if not memory:
            return 5  # PAM_BUF_ERR
        answers = ctypes.cast(memory, ctypes.POINTER(Response))
        for i in range(count):
            if messages[i].contents.style == ECHO_OFF:
                answers[i].text = libc.strdup(password)
        responses[0] = memory
        return 0

    handle = ctypes.c_void_p()
    talk = Conversation(converse, None)
    pam.pam_start.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
    pam.pam_authenticate.argtypes = pam.pam_acct_mgmt.argtypes = pam.pam_end.argtypes = [ctypes.c_void_p, ctypes.c_int]
    code = pam.pam_start(service, name, ctypes.byref(talk), ctypes.byref(handle))
    if code != 0:
        sys.stderr.write("pam_start: error %d\n" % code)
        sys.exit(2)
    code = pam.pam_authenticate(handle, 0)
    if code == 0:
        code = pam.pam_acct_mgmt(handle, 0)
    pam.pam_end(handle, code)
    sys.exit(0 if code == 0 else 1)


if __name__ == "__main__":
    try:
        main()
    except Exception as error:
        sys.stderr.write("%s: %s\n" % (type(error).__name__, error))
        sys.exit(2)
