package auth

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
)

// A Login is a user name and the entered password.
type Login struct{ Name, Password string }

// A System checks names and passwords: a module of external_auth. It must be safe for concurrent
// use. The context of a call ends when no caller waits for it any more.
type System interface {
	// Login reports whether the password is correct and the account is usable. An error means that
	// the system cannot decide, which counts as a refusal.
	Login(ctx context.Context, l Login) (bool, error)
}

// A Namer is a System that accepts several spellings of a name, such as a directory that ignores
// case. After a successful login it returns the spelling used in rules, tokens and jobs. An error
// refuses the login.
type Namer interface {
	Name(ctx context.Context, l Login) (string, error)
}

// A Grouper is a System that knows the groups of a user. It is asked after a successful login.
type Grouper interface {
	Groups(ctx context.Context, l Login) ([]string, error)
}

// A Ruler is a System that assigns rights itself. If ok is false, the configured rights apply.
type Ruler interface {
	Rules(ctx context.Context, l Login) (list []any, ok bool, err error)
}

// An Expander is a System that expands its own kind of targets in a list of rights.
type Expander interface {
	Expand(ctx context.Context, list []any) ([]any, error)
}

// OIDCSystem is the system of users who log in at a provider of OpenID Connect.
const OIDCSystem = "oidc"

// isSetting reports whether a name under an external_auth system is a setting of the system rather
// than a user.
func isSetting(name string) bool { return strings.HasPrefix(name, "^") }

// Settings returns the settings of an external_auth system: the entries whose names begin with ^,
// without the ^.
func Settings(system *data.Map) *data.Map {
	m := data.NewMap()
	for k, v := range system.All() {
		if name := data.Str(k); isSetting(name) {
			m.Set(name[1:], v)
		}
	}
	return m
}
