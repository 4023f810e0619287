package postgres

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Initdb returns the state postgres_initdb.
func Initdb() loader.Plugin {
	return state("postgres_initdb", func(m *module) []loader.Func {
		return []loader.Func{loader.F("present", m.presentDatadir).Secret("password")}
	})
}

type datadirArgs struct {
	Name      string
	User      any  `default:"None"`
	Password  any  `default:"None"`
	Auth      any  `default:"'password'"`
	Encoding  any  `default:"'UTF8'"`
	Locale    any  `default:"None"`
	Runas     any  `default:"None"`
	Waldir    any  `default:"None"`
	Checksums bool `default:"False"`
}

// presentDatadir creates the data directory of a server with the program initdb. A directory that
// holds data is left alone.
//
// user, password
//
//	The name and the password of the superuser. Default of user: runas.
//
// auth
//
//	The authentication method of local users.
//
// encoding, locale
//
//	The encoding and the locale of new databases.
//
// waldir
//
//	The directory of the write-ahead log.
//
// checksums
//
//	Whether pages get checksums.
//
// runas
//
//	The system user that initdb runs as. Default: postgres.
//
//	/var/lib/pgsql/data:
//	  postgres_initdb.present:
//	    - auth: scram-sha-256
//	    - password: secret
//	    - checksums: True
func (m *module) presentDatadir(ctx context.Context, a datadirArgs) (change.Result, error) {
	words := data.NewMap("user", a.User, "password", a.Password, "auth", a.Auth,
		"encoding", a.Encoding, "locale", a.Locale, "waldir", a.Waldir,
		"checksums", a.Checksums, "runas", a.Runas)
	return desired{
		name: a.Name,
		is: func(ctx context.Context) (any, error) {
			return m.env.Call(ctx, "postgres.datadir_exists", []any{a.Name}, nil)
		},
		make: func(ctx context.Context) (any, error) {
			return m.env.Call(ctx, "postgres.datadir_init", []any{a.Name}, words)
		},
		word: "Present",
		texts: change.Texts{
			Same:   fmt.Sprintf("Postgres data directory %s is already present", a.Name),
			Would:  fmt.Sprintf("Postgres data directory %s is set to be initialized", a.Name),
			Done:   fmt.Sprintf("Postgres data directory %s has been initialized", a.Name),
			Failed: fmt.Sprintf("Postgres data directory %s initialization failed", a.Name),
		},
	}.ensure(ctx)
}
