package runners

import (
	"github.com/brineproject/brine/data"
	"slices"

	"github.com/brineproject/brine/loader"
)

// Raise returns an error of a Python or Salt class by its name; an unknown name becomes a
// SaltException (salt/utils/error.py, raise_error).
func Raise(class, message string) error {
	switch {
	case class == "":
		class = "Exception"
	case class == "TypeError":
		return loader.TypeError("%s", message)
	case class == "NotImplemented":
		return &UnableError{Text: message}
	case slices.Contains(saltClasses(), class):
		class = "salt.exceptions." + class
	case !slices.Contains(pythonClasses(), class):
		class = "salt.exceptions.SaltException"
	}
	return loader.Exception(class, "%s", message)
}

// pythonClasses returns the Python exceptions that can be made from one text.
func pythonClasses() []string {
	return []string{"ArithmeticError", "AssertionError", "AttributeError", "BaseException",
		"BlockingIOError", "BrokenPipeError", "BufferError", "ChildProcessError", "ConnectionError",
		"EOFError", "EnvironmentError", "Exception", "FileExistsError",
		"FileNotFoundError", "FloatingPointError", "IOError", "ImportError", "IndexError",
		"InterruptedError", "IsADirectoryError", "KeyError", "LookupError", "MemoryError",
		"NameError", "NotADirectoryError", "NotImplementedError", "OSError",
		"OverflowError", "PermissionError", "ProcessLookupError", "RecursionError",
		"ReferenceError", "RuntimeError", "StopIteration", "SyntaxError", "SystemError",
		"TimeoutError", "ValueError", "ZeroDivisionError"}
}

func saltClasses() []string {
	return []string{"ArgumentValueError", "AuthenticationError", "AuthorizationError",
		"CommandExecutionError", "CommandNotFoundError", "EauthAuthenticationError",
		"FileLockError", "FileserverConfigError", "GitLockError", "InvalidConfigError",
		"InvalidKeyError", "LoaderError", "LoggingRuntimeError", "MasterExit", "MinionError",
		"MissingSmb", "PillarException", "PkgParseError", "PublishError", "SaltCacheError",
		"SaltClientError", "SaltClientTimeout", "SaltConfigurationError", "SaltDaemonNotRunning",
		"SaltException", "SaltInvocationError", "SaltMasterError", "SaltMasterUnresolvableError",
		"SaltNoMinionsFound", "SaltRenderError", "SaltReqTimeoutError", "SaltRunnerError",
		"SaltSyndicMasterError", "SaltSystemExit", "SaltTemplateRenderError",
		"SaltValidationError", "SaltWheelError", "TimedProcTimeoutError", "TimeoutError",
		"TokenAuthenticationError", "UnsupportedAlgorithm", "UserAuthenticationError"}
}

// RaiseArgs are the arguments of error.error, a function of both runners and wheel modules.
type RaiseArgs struct {
	Name    any    `default:"None"`
	Message string `default:"''"`
}

// Raise returns an error of the requested class; without one it returns an empty dictionary.
func (a RaiseArgs) Raise() (any, error) {
	if a.Name == nil {
		return data.NewMap(), nil
	}
	return nil, Raise(data.Str(a.Name), a.Message)
}
