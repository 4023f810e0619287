"""Writes vectors.json: what Python's logging and Salt's records make of formats and dates.

Run it with Salt's source in PYTHONPATH: python3 vectors.py > vectors.json
"""

import json
import logging
import logging.handlers
import os
import socket
import sys
import tempfile
import time

from salt._logging.impl import DFLT_LOG_FMT_CONSOLE, DFLT_LOG_FMT_JID, DFLT_LOG_FMT_LOGFILE, SaltColorLogRecord

LEVELS = [0, 1, 5, 10, 15, 20, 25, 30, 40, 50, 1000]
MOMENTS = [0.0, 951782400.123, 1700000000.007, 1731196799.999, 1735603200.5, 1767225599.25, 4102444799.75]
ZONES = ["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu"]

FORMATS = [
    DFLT_LOG_FMT_CONSOLE,
    DFLT_LOG_FMT_LOGFILE,
    "%(asctime)s [%(name)s][%(levelname)s] %(message)s",
    "%(colorlevel)s %(colorname)s %(colorprocess)s %(colormsg)s",
    "%(bracketlevel)s%(bracketname)s%(bracketprocess)s %(message)s",
    "%(levelno)d|%(levelno)5d|%(levelno)-5d|%(levelno)05d|%(levelno)+d|% d".replace("% d", "%(levelno) d"),
    "%(levelno)x|%(levelno)#X|%(levelno)#o|%(levelno)o|%(levelno).4d|%(levelno)7.4d|%(levelno)07.4d|%(levelno)-07d|",
    "%(levelno)s|%(levelno)5s|%(levelno).1s|%(levelno)r|%(levelno)a|%(levelno)f|%(levelno).2e|%(levelno)g|%(levelno)i|%(levelno)u",
    "%(msecs)d|%(msecs)03d|%(msecs)s|%(msecs)f|%(msecs).1f|%(msecs)08.2f|%(msecs)g|%(msecs)G|%(msecs)e|%(msecs)#g|%(msecs)+.0f|%(msecs)#.0f",
    "%(created)f|%(created).3f|%(created)d|%(created)s|%(created)r|%(created)e|%(created)g",
    "%(name)s|%(name)20s|%(name)-20s|%(name).4s|%(name)10.4s|%(name)-10.4s|%(name)020s|%(name)r|%(name)a|%(name)#s",
    "%(message)s|%(message)r|%(message)a|%(message).3s|%(message)40s",
    "100%% %(message)s %%(message)s %%",
    "%(filename)s %(module)s %(pathname)s %(lineno)d %(funcName)s",
    "%(processName)s %(threadName)s %(process)d %(process)x",
    "%(jid)s %(message)s",
    "%(levelno)c|%(levelno)ld|%(lineno)hd",
]

WRONG = [
    "", "no field", "100%", "%(message)", "%(message", "%(nosuch)s", "%(message)d", "%(message)q", "%s", "%(levelname)*d",
    "%(message)s %d", "%(message)s %", "%(message)s %z", "%()s", "%(message)f", "%(msecs)x", "%(message)c x",
]

DATES = ["%" + c for c in "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYzZ%"] + [
    "%-d|%-m|%-H|%-I|%-j|%-M|%-y", "%_d|%_m|%_H|%_j|%_Y|%_y", "%^a|%^A|%^b|%^B|%^p|%^Z", "%0e|%0k|%0l", "%EY|%Od|%Ey",
    "%Y-%m-%d %H:%M:%S", "%H:%M:%S", "%d/%b/%Y:%H:%M:%S %z", "", "plain", "%Q|%f|%q|%J", "äöü %Y",
]


def record(when, level, name, message):
    r = SaltColorLogRecord(name, level, "/srv/salt/run.py", 42, message, (), None, "work")
    r.created, r.msecs = when, float(int(round(when % 1 * 1000)))
    r.process = 1234
    for old in (str(os.getpid()).rjust(5),):
        r.bracketprocess = r.bracketprocess.replace(old, " 1234")
        r.colorprocess = r.colorprocess.replace(old, " 1234")
    r.jid = DFLT_LOG_FMT_JID % {"jid": "20231114221320000000"}
    return r


def formats():
    for form in FORMATS:
        for i, level in enumerate(LEVELS):
            when = MOMENTS[i % len(MOMENTS)]
            name = ["salt.master", "salt.loaded.int.module.cmdmod", "ä.b"][i % 3]
            message = ["The master is up", "", "Grüße 'an' \"alle\" \U0001f9c2", "back\\slash"][i % 4]
            date = ["%H:%M:%S", "%Y-%m-%d %H:%M:%S"][i % 2]
            text = logging.Formatter(form, datefmt=date).format(record(when, level, name, message))
            yield {"format": form, "date": date, "time": when, "level": level, "name": name, "message": message, "want": text}


def wrong():
    for form in WRONG:
        try:
            logging.Formatter(form or " ").format(record(0, 20, "n", "mm"))
        except (ValueError, KeyError, TypeError):
            yield form
            continue
        sys.exit("Python takes %r" % form)


def dates():
    for zone in ZONES:
        os.environ["TZ"] = zone
        time.tzset()
        for when in MOMENTS:
            for date in DATES:
                yield {"zone": zone, "time": when, "date": date, "want": time.strftime(date, time.localtime(when))}


ROTATIONS = [
    (100, 3, [30] * 20), (100, 1, [99, 1, 98, 2, 50, 49, 1]), (64, 2, [10, 20, 30, 40, 50, 60, 5, 5, 5, 5, 70, 3]),
    (100, 0, [60] * 5), (0, 5, [60] * 5), (40, 5, [8] * 40), (10, 2, [5, 5, 4, 3, 2, 1] * 4),
]


def rotations():
    """Files after lines of these lengths. The first line always fits: older Pythons rotate an empty file too."""
    for most, backups, lengths in ROTATIONS:
        for letter in "xé":
            with tempfile.TemporaryDirectory() as folder:
                handler = logging.handlers.RotatingFileHandler(folder + "/log", maxBytes=most, backupCount=backups, encoding="utf-8")
                lines = ["%d%s" % (i, letter * n) for i, n in enumerate(lengths)]
                for text in lines:
                    handler.emit(logging.LogRecord("n", 20, "", 0, text, (), None))
                handler.close()
                files = {f: open(folder + "/" + f, encoding="utf-8").read() for f in sorted(os.listdir(folder))}
            if not all(files.values()):
                sys.exit("an empty file was rotated: %r" % ((most, backups, lengths),))
            yield {"bytes": most, "backups": backups, "lines": lines, "want": files}


def packets():
    """What a syslog gets of each level and facility."""
    for facility in ("user", "daemon", "authpriv", "local7", "kern"):
        for level in (10, 20, 30, 40, 50):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.bind(("127.0.0.1", 0))
                handler = logging.handlers.SysLogHandler(s.getsockname(), handlers[facility])
                handler.emit(logging.LogRecord("n", level, "", 0, "Grüße", (), None))
                yield {"facility": "LOG_" + facility.upper(), "level": level, "want": s.recv(1000).decode()}
                handler.close()


handlers = logging.handlers.SysLogHandler.facility_names
logging.addLevelName(1000, "QUIET")
os.environ["TZ"] = "UTC"
time.tzset()
all_formats = list(formats())
json.dump({"formats": all_formats, "wrong": list(wrong()), "dates": list(dates()),
           "rotations": list(rotations()), "packets": list(packets())}, sys.stdout, indent=0)
