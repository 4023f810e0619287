package auth

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
)

// A Login is a name and the password that somebody typed for it.
type Login struct{ Name, Password string }

// A System knows users by name and password: a module of external_auth. Several goroutines may use it. Its context ends when
// nobody waits any more.
type System interface {
	// Login reports whether the password is right and the account may be used now. The error tells that the system cannot say,
	// which counts as no.
	Login(ctx context.Context, l Login) (bool, error)
}

// A Namer is a System that takes several spellings of a name, as directories do, which ignore case. It is asked after Login said yes, for
// the one by which rules, tokens and jobs know the user. The error refuses the login.
type Namer interface {
	Name(ctx context.Context, l Login) (string, error)
}

// A Grouper is a System that knows in which groups a user is. It is asked after Login said yes.
type Grouper interface {
	Groups(ctx context.Context, l Login) ([]string, error)
}

// A Ruler is a System that gives users their rights itself; ok is false where those of the configuration hold.
type Ruler interface {
	Rules(ctx context.Context, l Login) (list []any, ok bool, err error)
}

// An Expander is a System that puts other targets for those of its own in a list of rights.
type Expander interface {
	Expand(ctx context.Context, list []any) ([]any, error)
}

// isSetting reports whether a name under a system of external_auth is a setting of that system and no user.
func isSetting(name string) bool { return strings.HasPrefix(name, "^") }

// Settings returns the settings among the users under a system of external_auth: those whose names begin with ^, without it.
func Settings(system *data.Map) *data.Map {
	m := data.NewMap()
	for k, v := range system.All() {
		if name := data.Str(k); isSetting(name) {
			m.Set(name[1:], v)
		}
	}
	return m
}
