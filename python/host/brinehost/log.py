"""Sends what plug-ins log to Brine's log."""

import logging

from brinehost import describe


class Handler(logging.Handler):
    def __init__(self, channel):
        super().__init__()
        self.channel = channel

    def emit(self, record):
        try:
            text = record.getMessage()
            if record.exc_info and record.exc_info[0] is not None:
                text += "\n" + describe.traceback(record.exc_info[1])
            self.channel.log(record.levelno, record.name, text[:65536])
        except OSError:
            pass  # Brine has gone; the worker ends at its next read


def install(channel, level):
    for number, name in ((5, "TRACE"), (1, "GARBAGE"), (15, "PROFILE"), (1000, "QUIET")):
        logging.addLevelName(number, name)

    def trace(self, message, *args, **kwargs):
        if self.isEnabledFor(5):
            self._log(5, message, args, **kwargs)

    logging.Logger.trace = trace
    logging.root.addHandler(Handler(channel))
    logging.root.setLevel(level or 1)
