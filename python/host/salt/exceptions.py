"""Salt's exceptions, with the class tree that plug-ins rely on."""


class SaltException(Exception):
    """Base of all exceptions of Salt. The text is in strerror and message as well."""

    def __init__(self, message=""):
        if not isinstance(message, str):
            message = str(message)
        super().__init__(message)
        self.message = self.strerror = message

    def __unicode__(self):
        return self.strerror

    def pack(self):
        return {"message": str(self), "args": self.args}


class SaltClientError(SaltException):
    """A client could not do what it was asked for."""


class SaltMasterError(SaltException):
    """A master is at fault."""


class SaltNoMinionsFound(SaltException):
    """No minion matches."""


class SaltSyndicMasterError(SaltException):
    """A syndic is at fault."""


class SaltMasterUnresolvableError(SaltException):
    """The address of a master is unknown."""


class MasterExit(SystemExit):
    """A master ends."""


class AuthenticationError(SaltException):
    """A login is refused."""


class AuthorizationError(SaltException):
    """A user has no right to it."""


class UnsupportedAlgorithm(SaltException):
    """An algorithm is not allowed."""


class InvalidKeyError(SaltException):
    """A key is wrong."""


class CommandExecutionError(SaltException):
    """A function failed. Its info, a list or dictionary, is printed below the text."""

    def __init__(self, message="", info=None):
        text = self.error = message if isinstance(message, str) else str(message)
        self.info = info
        super().__init__(_with_info(text, info))
        if isinstance(info, dict):
            info = {key: value for key, value in info.items() if key != "changes"}
        self.strerror_without_changes = _with_info(text, info)


def _with_info(text, info):
    """Return a text with info as the outputter nested prints it below."""
    if not info:
        return text
    if text:
        text += " " if text[-1] in ".?!" else ". "
    from salt.output import nested

    return text + "Additional info follows:\n\n" + nested.output(info)


class LoaderError(SaltException):
    """A plug-in cannot be loaded."""


class PublishError(SaltException):
    """A job could not be published."""


class MinionError(SaltException):
    """A minion cannot do something."""


class FileserverConfigError(SaltException):
    """The file server is configured wrongly."""


class FileLockError(SaltException):
    """A lock of a file cannot be had."""

    def __init__(self, message, time_start=None, *args, **kwargs):
        super().__init__(message)
        self.time_start = time_start


class GitLockError(SaltException):
    """A lock of a git repository cannot be had."""

    def __init__(self, errno, message, *args, **kwargs):
        super().__init__(message)
        self.errno = errno


class GitRemoteError(SaltException):
    """A git remote is at fault."""


class SaltInvocationError(SaltException, TypeError):
    """A function was called with wrong arguments."""


class PkgParseError(SaltException):
    """The output of a package manager cannot be read."""


class SaltRenderError(SaltException):
    """A file cannot be rendered."""

    def __init__(self, message, line_num=None, buf="", marker="    <======================",
                 trace=None):
        self.error = message if isinstance(message, str) else str(message)
        self.line_num, self.buffer, self.context = line_num, buf, ""
        text = self.error
        if trace:
            text += "\n%s\n" % trace
        if line_num and buf:
            lines = buf.splitlines()
            start = max(0, line_num - 6)
            shown = lines[start : line_num + 5]
            if 0 <= line_num - 1 - start < len(shown):
                shown[line_num - 1 - start] += marker
            self.context = "---\n" + "\n".join(shown) + "\n---"
            text += "; line %d\n\n%s" % (line_num, self.context)
        super().__init__(text)


class SaltClientTimeout(SaltException):
    """A client waited in vain."""

    def __init__(self, message, jid=None):
        super().__init__(message)
        self.jid = jid


class SaltCacheError(SaltException):
    """A cache is at fault."""


class TimeoutError(SaltException):
    """The time is over."""


class SaltReqTimeoutError(SaltException):
    """A request was not answered in time."""


class TimedProcTimeoutError(SaltException):
    """A program took too long."""


class EauthAuthenticationError(SaltException):
    """A login by external_auth is refused."""


class TokenAuthenticationError(SaltException):
    """A token is refused."""


class SaltDeserializationError(SaltException):
    """Bytes cannot be read."""


class SaltDaemonNotRunning(SaltException):
    """There is no daemon."""


class SaltRunnerError(SaltException):
    """A runner failed."""


class SaltWheelError(SaltException):
    """A wheel function failed."""


class SaltConfigurationError(SaltException):
    """The configuration is wrong."""


class SaltSystemExit(SystemExit):
    """The program ends with a code and a text."""

    def __init__(self, code=0, msg=None):
        super().__init__(msg)  # Salt's code attribute is the text as well


class SaltCloudException(SaltException):
    """Base of the exceptions of salt-cloud."""


class SaltCloudSystemExit(SaltCloudException):
    """salt-cloud ends."""

    def __init__(self, message, exit_code=1):
        super().__init__(message)
        self.message, self.exit_code = message, exit_code


class SaltCloudConfigError(SaltCloudException):
    """salt-cloud is configured wrongly."""


class SaltCloudNotFound(SaltCloudException):
    """There is no such machine."""


class SaltCloudExecutionTimeout(SaltCloudException):
    """The time of a cloud is over."""


class SaltCloudExecutionFailure(SaltCloudException):
    """A cloud failed."""


class SaltCloudPasswordError(SaltCloudException):
    """A password cannot be set."""


class NotImplemented(SaltException):
    """There is no such thing."""


class TemplateError(SaltException):
    """A template is wrong."""


class ArgumentValueError(CommandExecutionError):
    """An argument has a wrong value."""


class CommandNotFoundError(SaltException):
    """A program is not there."""


class InvalidConfigError(CommandExecutionError):
    """A configuration is wrong."""


class InvalidEntityError(CommandExecutionError):
    """A thing is not what it has to be."""


class CheckError(CommandExecutionError):
    """A check failed."""


class VMwareSaltError(CommandExecutionError):
    """Base of the exceptions of VMware."""


class CodePageError(CommandExecutionError):
    """A code page of Windows cannot be set."""


class MissingSmb(SaltException):
    """The library of SMB is not there."""


class NxosError(SaltException):
    """Base of the exceptions of NX-OS."""


class NxosCliError(NxosError):
    """A command of NX-OS failed."""


class NxosClientError(NxosError):
    """NX-OS cannot be reached."""


class NxosRequestNotSupported(NxosError):
    """NX-OS does not know a request."""


class VMwareApiError(VMwareSaltError):
    """A call of VMware failed."""


class VMwareConnectionError(VMwareSaltError):
    """VMware cannot be reached."""


class VMwareNotFoundError(VMwareSaltError):
    """VMware has no such thing."""


class VMwareObjectExistsError(VMwareSaltError):
    """VMware has such an object."""


class VMwareObjectNotFoundError(VMwareSaltError):
    """VMware has no such object."""


class VMwareObjectRetrievalError(VMwareSaltError):
    """VMware did not give an object."""


class VMwarePowerOnError(VMwareSaltError):
    """A machine cannot be started."""


class VMwareRuntimeError(VMwareSaltError):
    """VMware is at fault."""


class VMwareSystemError(VMwareSaltError):
    """The system of VMware is at fault."""


class VMwareVmCreationError(VMwareSaltError):
    """A machine cannot be made."""


class VMwareVmRegisterError(VMwareSaltError):
    """A machine cannot be registered."""


class VMwareFileNotFoundError(VMwareApiError):
    """VMware has no such file."""


class VMwareMultipleObjectsError(VMwareObjectRetrievalError):
    """VMware has several objects of a name."""


class ProxyConnectException(SaltException):
    """A proxy cannot reach its device."""


class LoggingRuntimeError(RuntimeError):
    """The log is at fault."""


def get_error_message(error):
    """Return the text of an exception."""
    return error.args[0] if error.args else ""
