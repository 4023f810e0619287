"""Numbers of jobs, as salt.utils.jid makes them."""

LAST_JID_DATETIME = None


def _utc_now():
    import datetime

    return datetime.datetime.utcnow()


def gen_jid(opts=None):
    """Return a job id from the time, which no other call of this process returned."""
    import datetime
    import os

    global LAST_JID_DATETIME
    now = (datetime.datetime.utcnow() if (opts or {}).get("utc_jid") else datetime.datetime.now())
    if not (opts or {}).get("unique_jid"):
        return "%s" % now.strftime("%Y%m%d%H%M%S%f")
    if LAST_JID_DATETIME is not None and LAST_JID_DATETIME >= now:
        now = LAST_JID_DATETIME + datetime.timedelta(microseconds=1)
    LAST_JID_DATETIME = now
    return "%s_%d" % (now.strftime("%Y%m%d%H%M%S%f"), os.getpid())


def is_jid(jid):
    """Report whether a value is a job id."""
    if not isinstance(jid, str):
        return False
    if len(jid) != 20 and (len(jid) <= 21 or jid[20] != "_"):
        return False
    try:
        int(jid[:20])
        return True
    except ValueError:
        return False


def jid_to_time(jid):
    """Return the time of a job id as 2014, Jan 01 12:34:56.123456; "" for what is none."""
    import datetime

    text = str(jid)
    if len(text) != 20 and (len(text) <= 21 or text[20] != "_"):
        return ""
    try:
        time = datetime.datetime.strptime(text[:20], "%Y%m%d%H%M%S%f")
    except ValueError:
        return ""
    return time.strftime("%Y, %b %d %H:%M:%S.%f")


def format_job_instance(job):
    """Return a job as runners print it."""
    made = {
        "Function": job.get("fun", "unknown-function"),
        "Arguments": list(job.get("arg", [])),
        "Target": job.get("tgt", "unknown-target"),
        "Target-type": job.get("tgt_type", "list"),
        "User": job.get("user", "root"),
    }
    words = job.get("kwargs", {})
    if "metadata" in job:
        made["Metadata"] = job["metadata"]
    elif "metadata" in words:
        made["Metadata"] = words["metadata"]
    return made


def format_jid_instance(jid, job):
    """Return a job with its time."""
    made = format_job_instance(job)
    made["StartTime"] = jid_to_time(jid)
    return made


def format_jid_instance_ext(jid, job):
    """Return a job with its id and its time."""
    made = format_job_instance(job)
    made.update({"JID": jid, "StartTime": jid_to_time(jid)})
    return made


def jid_dir(jid, job_dir=None, hash_type="sha256"):
    """Return the directory of a job below job_dir."""
    import hashlib
    import os

    digest = hashlib.new(hash_type, str(jid).encode()).hexdigest()
    parts = [digest[:2], digest[2:]]
    return os.path.join(*([job_dir] if job_dir is not None else []), *parts)
