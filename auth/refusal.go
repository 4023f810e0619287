package auth

import (
	"errors"

	"github.com/brineproject/brine/data"
)

// Causes of a [Refusal]; each wraps one of them.
var (
	// ErrNotAuthenticated means that the sender of a request is not authenticated.
	ErrNotAuthenticated = errors.New("not authenticated")
	// ErrNotAuthorized means that the sender lacks the right.
	ErrNotAuthorized = errors.New("not authorized")
	// ErrSyntax means that the request contains no valid function name.
	ErrSyntax = errors.New("no function is named like this")
)

// A Refusal explains why a runner, wheel function or token is refused, with the text of Salt's
// replies. The text is the same for all causes, so it does not reveal whether name, password or
// right was wrong.
type Refusal struct {
	Name    string // exception name, such as TokenAuthenticationError
	Message string
	cause   error
}

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }

// Unwrap returns ErrNotAuthenticated, ErrNotAuthorized or ErrSyntax.
func (r *Refusal) Unwrap() error { return r.cause }

// Map returns the refusal as a complete reply to a runner or wheel request.
func (r *Refusal) Map() *data.Map {
	return data.NewMap("error", data.NewMap("name", r.Name, "message", r.Message))
}

// notAuthenticated returns the refusal of credentials (salt/auth/__init__.py,
// check_authentication). Like Salt it writes UNKNOWN if the request has no username.
func notAuthenticated(c Credentials) *Refusal {
	switch c.Kind {
	case ByToken:
		return &Refusal{"TokenAuthenticationError",
			`Authentication failure of type "token" occurred.`, ErrNotAuthenticated}
	case ByEauth:
		name := c.Fields.Text("username")
		if !c.Fields.Has("username") {
			name = "UNKNOWN"
		}
		return &Refusal{"EauthAuthenticationError",
			`Authentication failure of type "eauth" occurred for user ` + name +
				".", ErrNotAuthenticated}
	}
	return &Refusal{"UserAuthenticationError", `Authentication failure of type "user" occurred`,
		ErrNotAuthenticated}
}

// notAuthorized returns the refusal of a runner or wheel function (salt/master.py, runner).
func notAuthorized(i *Identity) *Refusal {
	names := map[Kind]string{ByKey: "UserAuthenticationError", ByToken: "TokenAuthenticationError",
		ByEauth: "EauthAuthenticationError"}
	text := `Authentication failure of type "` + i.Kind.String() +
		`" occurred for user ` + i.Name + "."
	return &Refusal{names[i.Kind], text, ErrNotAuthorized}
}

// badSyntax returns the refusal of names other than MODULE.FUNCTION (salt/utils/minions.py,
// spec_check).
func badSyntax() *Refusal {
	return &Refusal{"SaltInvocationError",
		"A command invocation error occurred: Check syntax.", ErrSyntax}
}
