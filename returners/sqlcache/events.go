package sqlcache

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/brineproject/brine/returners"
)

// Events stores events in Salt's table.
type Events struct {
	DB      *sql.DB
	Dialect *Dialect
	Master  string // id of the master
	At      string // the server, for errors
}

var _ returners.EventReturner = (*Events)(nil)

// ReturnEvents adds events, all of them or none.
func (e *Events) ReturnEvents(ctx context.Context, events []returners.Event) error {
	if err := InsertEvents(ctx, e.DB, e.Dialect, events, e.Master); err != nil {
		return fmt.Errorf("%s: %w", e.At, err)
	}
	return nil
}

// Close closes the connections.
func (e *Events) Close() error { return e.DB.Close() }
