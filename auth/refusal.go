package auth

import (
	"errors"

	"github.com/brineproject/brine/data"
)

// Errors that every [Refusal] wraps one of.
var (
	// ErrNotAuthenticated says that nobody knows who sent a request.
	ErrNotAuthenticated = errors.New("not authenticated")
	// ErrNotAuthorized says that its sender may not do what it asks.
	ErrNotAuthorized = errors.New("not authorized")
	// ErrSyntax says that it names no function.
	ErrSyntax = errors.New("no function is named like this")
)

// A Refusal is why a runner, a wheel function or a token is refused, in the words of Salt's replies. They are the same for
// every cause, so that nobody learns which of name, password and right was wrong.
type Refusal struct {
	Name    string // as TokenAuthenticationError
	Message string
	cause   error
}

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }

// Unwrap returns ErrNotAuthenticated, ErrNotAuthorized or ErrSyntax.
func (r *Refusal) Unwrap() error { return r.cause }

// Map returns the refusal as the whole reply to a runner or wheel request.
func (r *Refusal) Map() *data.Map {
	return data.NewMap("error", data.NewMap("name", r.Name, "message", r.Message))
}

// notAuthenticated is the refusal of credentials (salt/auth/__init__.py, check_authentication). Salt says UNKNOWN of a request without a
// username.
func notAuthenticated(c Credentials) *Refusal {
	switch c.Kind {
	case ByToken:
		return &Refusal{"TokenAuthenticationError", `Authentication failure of type "token" occurred.`, ErrNotAuthenticated}
	case ByEauth:
		name := c.Fields.Text("username")
		if !c.Fields.Has("username") {
			name = "UNKNOWN"
		}
		return &Refusal{"EauthAuthenticationError", `Authentication failure of type "eauth" occurred for user ` + name + ".", ErrNotAuthenticated}
	}
	return &Refusal{"UserAuthenticationError", `Authentication failure of type "user" occurred`, ErrNotAuthenticated}
}

// notAuthorized is the refusal of a runner or wheel function (salt/master.py, runner).
func notAuthorized(i *Identity) *Refusal {
	names := map[Kind]string{ByKey: "UserAuthenticationError", ByToken: "TokenAuthenticationError", ByEauth: "EauthAuthenticationError"}
	text := `Authentication failure of type "` + i.Kind.String() + `" occurred for user ` + i.Name + "."
	return &Refusal{names[i.Kind], text, ErrNotAuthorized}
}

// badSyntax is the refusal of what is not MODULE.FUNCTION (salt/utils/minions.py, spec_check).
func badSyntax() *Refusal {
	return &Refusal{"SaltInvocationError", "A command invocation error occurred: Check syntax.", ErrSyntax}
}
