"""Start of the host program.

    python3 -I main.py DIRECTORY serve FD [SALT]   answers calls over the socket FD, then ends
    python3 -I main.py DIRECTORY fork FD [SALT]    makes a process for each socket that arrives over FD

DIRECTORY has this program and our own library salt. With SALT the library is that of an installed
Salt in its place: of the directory SALT, or the one that Python finds where SALT is empty.

A command such as salt-call has one worker, which serves it itself. A daemon keeps the program
running as the parent of its workers: each job gets a process of its own, forked from it, so that
what a plug-in leaves behind (variables, the working directory, the environment, signal handlers)
is gone with the job, and what it breaks is broken for that job alone.
"""

import os
import sys

if sys.version_info < (3, 8):
    sys.exit("%s is Python %s; Brine needs 3.8 or newer" % (sys.executable, sys.version.split()[0]))

# Compiled files beside those of plug-ins are not read, whoever wrote them.
sys.pycache_prefix = os.path.join(sys.argv[1], "compiled")
sys.path.insert(0, sys.argv[1])
INSTALLED = len(sys.argv) > 4
if INSTALLED:
    import brinehost  # noqa: F401  # its modules are found without the path from here on

    sys.path[0:1] = [sys.argv[4]] if sys.argv[4] else []


def serve(fd):
    from brinehost import worker

    os.set_inheritable(fd, False)
    worker.Worker(fd).serve()
    os._exit(0)  # without what plug-ins have registered, and without their threads


def fork(fd):
    from brinehost import template

    if INSTALLED:
        import salt.config  # noqa: F401
        import salt.loader  # noqa: F401

    os.set_inheritable(fd, False)
    template.Template(fd).serve()


if __name__ == "__main__":
    {"serve": serve, "fork": fork}[sys.argv[2]](int(sys.argv[3]))
