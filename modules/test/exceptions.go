package test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

func (m *module) exceptions() []loader.Func {
	return []loader.Func{
		loader.F("exception", m.exception),
		loader.F("raise_exception", m.raiseException),
		loader.F("assertion", m.assertion),
		loader.F("try", m.try).Def("try_"),
	}
}

type exceptionArgs struct {
	Message any `default:"'Test Exception'"`
}

// exception raises an exception with the given message.
//
// CLI Example:
//
//	salt '*' test.exception 'Oh noes!'
func (m *module) exception(_ context.Context, a exceptionArgs) (any, error) {
	return nil, loader.Exception("Exception", "%s", data.Str(a.Message))
}

type assertionArgs struct {
	Assertion bool
}

// assertion raises an AssertionError unless its argument is true.
//
// CLI Example:
//
//	salt '*' test.assertion False
func (m *module) assertion(_ context.Context, a assertionArgs) (any, error) {
	if !a.Assertion {
		return nil, loader.Exception("AssertionError", "")
	}
	return nil, nil
}

type tryArgs struct {
	Module             string
	ReturnTryException bool      `default:"False"`
	Kwargs             *data.Map `kwargs:"kwargs"`
}

// try calls a function with the keyword arguments. If the function fails, try returns None, or the
// text of the exception with return_try_exception=True. Use it in templates with functions that may
// fail.
//
// Jinja Example:
//
//	{{ salt['test.try'](module='ipmi.get_users', bmc_host='172.2.2.1') }}
func (m *module) try(ctx context.Context, a tryArgs) (any, error) {
	kwargs := a.Kwargs
	if f, ok := m.env.Functions.Func(a.Module); ok && f.Spec().Kwargs == "" {
		// the publication's arguments are only for functions that accept them
		kwargs = clean(kwargs)
	}
	v, err := m.env.Call(ctx, a.Module, nil, kwargs)
	switch {
	case err == nil:
		return v, nil
	case ctx.Err() != nil:
		return nil, err
	case a.ReturnTryException:
		return err.Error(), nil
	}
	return nil, nil
}

type raiseArgs struct {
	Name   string
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// raiseException raises the named exception of Python, or one of Salt with the prefix
// salt.exceptions. It shows how errors are handled. If the exception does not exist, it returns
// False.
//
// CLI Example:
//
//	salt '*' test.raise_exception TypeError "An integer is required"
//	salt '*' test.raise_exception salt.exceptions.CommandExecutionError "Something went wrong"
func (m *module) raiseException(_ context.Context, a raiseArgs) (any, error) {
	kwargs := clean(a.Kwargs)
	if name, ok := strings.CutPrefix(a.Name, "salt.exceptions."); ok {
		if kind, ok := saltKind(name); ok {
			return nil, saltException(kind, name, a.Args, kwargs)
		}
	} else if isBuiltin(a.Name) {
		return nil, builtin(a.Name, a.Args, kwargs)
	}
	m.env.Log.Errorf("No such exception: %s", a.Name)
	return false, nil
}

// builtins lists the exceptions of Python 3.11 except BaseException.
const builtins = `ArithmeticError AssertionError AttributeError BaseExceptionGroup BlockingIOError BrokenPipeError BufferError
	BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError
	DeprecationWarning EOFError EncodingWarning EnvironmentError Exception ExceptionGroup FileExistsError FileNotFoundError
	FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning IndentationError IndexError
	InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError
	NotADirectoryError NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError
	ProcessLookupError RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration
	StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError TypeError UnboundLocalError
	UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning
	ZeroDivisionError`

func isBuiltin(name string) bool { return slices.Contains(strings.Fields(builtins), name) }

// systemErrors lists the subclasses that Python uses for OSError by error number on Linux.
const systemErrors = `1 PermissionError 2 FileNotFoundError 3 ProcessLookupError 4 InterruptedError 10 ChildProcessError
	11 BlockingIOError 13 PermissionError 17 FileExistsError 20 NotADirectoryError 21 IsADirectoryError 32 BrokenPipeError
	103 ConnectionAbortedError 104 ConnectionResetError 110 TimeoutError 111 ConnectionRefusedError`

// builtin returns a built-in exception of Python with the text that str() returns for these
// arguments.
func builtin(name string, args []any, kwargs *data.Map) error {
	if kwargs.Len() > 0 {
		return loader.TypeError("%s() takes no keyword arguments", name)
	}
	text := exceptionText(args)
	switch {
	case name == "TypeError":
		return loader.TypeError("%s", text)
	case name == "KeyError" && len(args) == 1:
		text = data.Repr(args[0])
	case slices.Contains([]string{"OSError", "IOError", "EnvironmentError"}, name):
		return systemError(args)
	}
	return loader.Exception(name, "%s", text)
}

// exceptionText returns str() of an exception with these arguments.
func exceptionText(args []any) string {
	switch len(args) {
	case 0:
		return ""
	case 1:
		return data.Str(args[0])
	}
	return data.Repr(data.Tuple(args))
}

func systemError(args []any) error {
	class, text := "OSError", exceptionText(args)
	if len(args) >= 2 && len(args) <= 5 {
		text = fmt.Sprintf("[Errno %s] %s", data.Str(args[0]), data.Str(args[1]))
		known := strings.Fields(systemErrors)
		for i := 0; i < len(known); i += 2 {
			if data.Repr(args[0]) == known[i] {
				class = known[i+1]
			}
		}
	}
	if len(args) >= 3 && len(args) <= 5 {
		text += ": " + data.Repr(args[2])
	}
	return loader.Exception(class, "%s", text)
}

// plainErrors lists the exceptions of salt/exceptions.py that are printed with a traceback,
// executionErrors those derived from CommandExecutionError.
const (
	plainErrors = `SaltException SaltClientError SaltMasterError SaltNoMinionsFound SaltSyndicMasterError
	SaltMasterUnresolvableError MasterExit AuthenticationError InvalidKeyError LoaderError PublishError MinionError
	FileserverConfigError FileLockError GitLockError GitRemoteError PkgParseError SaltRenderError SaltClientTimeout
	SaltCacheError TimeoutError SaltReqTimeoutError TimedProcTimeoutError EauthAuthenticationError
	TokenAuthenticationError SaltDeserializationError AuthorizationError SaltDaemonNotRunning SaltRunnerError
	SaltWheelError SaltConfigurationError SaltSystemExit SaltCloudException SaltCloudSystemExit SaltCloudConfigError
	SaltCloudNotFound SaltCloudExecutionTimeout SaltCloudExecutionFailure SaltCloudPasswordError NotImplemented
	TemplateError MissingSmb LoggingRuntimeError NxosError NxosCliError NxosClientError NxosRequestNotSupported`
	executionErrors = `CommandExecutionError ArgumentValueError CheckError InvalidConfigError InvalidEntityError VMwareSaltError
	VMwareRuntimeError VMwareConnectionError VMwareObjectRetrievalError VMwareObjectNotFoundError
	VMwareObjectExistsError VMwareMultipleObjectsError VMwareNotFoundError VMwareApiError VMwareFileNotFoundError
	VMwareSystemError VMwarePowerOnError VMwareVmRegisterError VMwareVmCreationError CodePageError`
)

func saltKind(name string) (loader.Kind, bool) {
	switch {
	case name == "CommandNotFoundError":
		return loader.KindNotFound, true
	case name == "SaltInvocationError":
		return loader.KindInvocation, true
	case slices.Contains(strings.Fields(executionErrors), name):
		return loader.KindExecution, true
	}
	return loader.KindException, slices.Contains(strings.Fields(plainErrors), name)
}

// saltException returns an exception of Salt. The first argument is the message;
// CommandExecutionError also accepts details.
func saltException(kind loader.Kind, name string, args []any, kwargs *data.Map) error {
	spec := constructor(kind, name)
	b, err := spec.Bind(append([]any{nil}, args...), kwargs)
	if err != nil {
		return err
	}
	message := data.Str(b.Values[len(b.Values)-1])
	switch kind {
	case loader.KindExecution:
		return loader.ExecutionInfo(data.Str(b.Values[1]), b.Values[2])
	case loader.KindNotFound:
		return loader.NotFound("%s", message)
	case loader.KindInvocation:
		return loader.Invocation("%s", message)
	}
	return loader.Exception("salt.exceptions."+name, "%s", message)
}

// constructor returns the parameters of the __init__ of the class.
func constructor(kind loader.Kind, name string) *loader.Spec {
	self, message := loader.Param{Name: "self", Required: true},
		loader.Param{Name: "message", Default: ""}
	required := loader.Param{Name: "message", Required: true}
	switch {
	case kind == loader.KindExecution:
		return &loader.Spec{Def: "CommandExecutionError.__init__",
			Params: []loader.Param{self, message, {Name: "info"}}}
	case name == "GitLockError":
		errno := loader.Param{Name: "errno", Required: true}
		return &loader.Spec{Def: "GitLockError.__init__",
			Params: []loader.Param{self, errno, required}, Args: "args", Kwargs: "kwargs"}
	case slices.Contains([]string{"FileLockError", "SaltRenderError", "SaltClientTimeout",
		"SaltCloudSystemExit"}, name):
		return &loader.Spec{Def: name + ".__init__", Params: []loader.Param{self, required},
			Args: "args", Kwargs: "kwargs"}
	}
	return &loader.Spec{Def: "SaltException.__init__", Params: []loader.Param{self, message}}
}
