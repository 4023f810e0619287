package sqlcache

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/returners"
)

// A Database describes a returner for a database, for minions and masters.
type Database struct {
	Dialect *Dialect
	Doc     string // docstring of the module
	Kind    string // precedes the address in errors: mysql on
	// OwnEvents means that Salt has no table of events in this database; OpenEvents creates it.
	OwnEvents bool
	// Connect returns a database that connects on first use, and its address. ret is the return
	// that may name other settings, or nil.
	Connect func(from returners.Source, ret *data.Map) (db *sql.DB, at string, err error)
}

// Plugin returns the returner for a minion.
func (d Database) Plugin() loader.Plugin {
	return loader.Plugin{Name: d.Dialect.Name, New: func(env *loader.Env) (*loader.Module, error) {
		return returners.Module(d.Doc, d.minionReturner(returners.EnvSource(env))), nil
	}}
}

// minionReturner connects for each return, because the ret_config of each may name another
// database.
type minionReturner struct {
	Reader
	Database
	from returners.Source
}

func (d Database) minionReturner(from returners.Source) *minionReturner {
	open := func() (*sql.DB, string, error) { return d.Connect(from, nil) }
	return &minionReturner{Reader{Connect: open, Dialect: d.Dialect}, d, from}
}

// Return stores a return in Salt's table.
func (r *minionReturner) Return(ctx context.Context, ret *data.Map) error {
	db, at, err := r.Database.Connect(r.from, ret)
	if err != nil {
		return err
	}
	err = Insert(ctx, db, r.Database.Dialect, ret, time.Now())
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("%s %s: %w", r.Kind, at, err)
	}
	return nil
}

// Open opens the job cache of a master with these options.
func (d Database) Open(
	ctx context.Context, opts *data.Map, log logrus.FieldLogger,
) (returners.JobCache, error) {
	db, at, err := d.Connect(returners.MapSource(opts), nil)
	if err != nil {
		return nil, err
	}
	c, err := Open(ctx, db, d.Dialect, Options{Log: log})
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", d.Kind, at, err)
	}
	return c, nil
}

// OpenEvents returns an EventReturner. It connects with the first events, unless it has a table to
// create.
func (d Database) OpenEvents(ctx context.Context, opts *data.Map) (returners.EventReturner, error) {
	db, at, err := d.Connect(returners.MapSource(opts), nil)
	if err != nil {
		return nil, err
	}
	e := &Events{DB: db, Dialect: d.Dialect, Master: opts.Text("id"), At: d.Kind + " " + at}
	if !d.OwnEvents {
		return e, nil
	}
	for _, statement := range d.Dialect.Events {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", e.At, err), e.Close())
		}
	}
	return e, nil
}
