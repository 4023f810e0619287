"""The parent of a daemon's workers.

Brine asks for three things, by a byte:

    f         with a socket: fork a worker for it. The answer is the id of the process, 0 for none
    s ID      how did this worker end? The answer is four bytes: 0, 0, CLD_EXITED, CLD_KILLED or
              CLD_DUMPED, and the exit status or signal; or four zeros while it runs
    r ID      release this worker, which has ended or has been killed

Numbers are four bytes, the highest first. A worker that has ended keeps its id until it is
released, so that Brine never kills another process that has got the id meanwhile. When Brine
closes the socket, or is killed, all workers are killed.
"""

import _signal
import _socket
import gc
import os
import sys
import time

from brinehost import worker  # loaded before the fork, for all

PATIENCE = 0.2  # seconds that a worker gets to end when its status is asked for


class Template:
    def __init__(self, fd):
        self.control = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fd)
        self.workers = set()
        self.released = set()

    def serve(self):
        _signal.signal(_signal.SIGCHLD, self.reap)
        gc.collect()
        gc.freeze()  # workers share what is loaded by now
        while True:
            request, rights, _, _ = self.control.recvmsg(1, _socket.CMSG_LEN(4))
            if request == b"f":
                self._answer(self.fork(rights))
            elif request == b"s":
                self._answer(self.status(self._number()))
            elif request == b"r":
                self.release(self._number())
            else:
                break
        for pid in self.workers:
            try:
                os.killpg(pid, _signal.SIGKILL)
            except OSError:
                pass

    def fork(self, rights):
        """Fork a worker for the socket in rights and return its process id; 0 if that fails."""
        if not rights:  # there was no descriptor left for it
            return 0
        fd = int.from_bytes(rights[0][2][:4], sys.byteorder)
        try:
            pid = os.fork()
        except OSError:
            pid = 0
        else:
            if pid == 0:
                self._work(fd)
            self.workers.add(pid)
        os.close(fd)
        return pid

    def _work(self, fd):
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
        self.control.close()
        os.set_inheritable(fd, False)
        os.setsid()
        try:
            worker.Worker(fd).serve()
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)

    def status(self, pid):
        until = time.monotonic() + PATIENCE
        while hasattr(os, "waitid") and pid in self.workers:
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if ended is not None:
                return ended.si_code << 8 | ended.si_status
            if time.monotonic() > until:
                break
            time.sleep(0.001)
        return 0

    def release(self, pid):
        if pid in self.workers:
            self.workers.remove(pid)
            self.released.add(pid)
            self.reap()

    def reap(self, *_):
        for pid in list(self.released):
            try:
                if os.waitpid(pid, os.WNOHANG)[0] == 0:
                    continue
            except ChildProcessError:
                pass
            self.released.discard(pid)

    def _number(self):
        return int.from_bytes(self.control.recv(4, _socket.MSG_WAITALL), "big")

    def _answer(self, number):
        self.control.sendall(number.to_bytes(4, "big"))
