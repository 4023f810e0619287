package sqlcache

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
)

// A Dialect holds the differences between databases and between Salt's returners for them.
// Statements have a question mark for each parameter.
type Dialect struct {
	Name     string // of the returner
	Numbered bool   // parameters are $1, $2
	// Types of columns in Brine's tables: a case-sensitive text of at most 255 bytes, an
	// auto-incremented key, and bytes without limit.
	Text, Serial, Blob string

	// Salt's tables, each with the statements that create it.
	Jids, Returns, Events []string

	Load string // the column load, quoted if necessary
	// an INSERT that keeps an existing row with an equal key: %s is the rest of it, %t the table
	Ignore       string
	Locked       string // the end of a SELECT that locks the row
	InsertJob    string // Salt's row of a job: jid, load
	InsertReturn string // Salt's row of a return: see ReturnRow
	InsertEvent  string // Salt's row of an event: tag, data, id of the master
	// ReturnRow returns the parameters of InsertReturn.
	ReturnRow func(r *Row) []any
	// Foreign reads the returns of a job without a record: minion, JSON, function, success, and the
	// time in seconds or as text. Parameter: jid.
	Foreign string
	// Whole means that the JSON of Foreign is the whole return; else it is only the value.
	Whole bool

	Purge []string // delete rows older than a time from Salt's tables; one parameter each
	Stamp func(micros int64) any

	Again   func(error) bool // the database has aborted the transaction because of another
	Refused func(error) bool // the database rejects the values
}

// A Row holds the columns of Salt's table for a return.
type Row struct {
	Fun, JID, Minion string
	FunArgs          any
	Value            string // JSON of the field return
	Whole            string // JSON of the return
	Success          any    // the field success; nil when it is missing
	Now              int64  // microseconds
}

// A table of the database.
type table struct {
	name string
	make []string
}

// tables returns the tables of a job cache.
func (d *Dialect) tables() []table {
	return []table{
		{"jids", d.Jids},
		{"salt_returns", d.Returns},
		{"salt_events", d.Events},
		{"brine_jobs", []string{
			"CREATE TABLE brine_jobs (jid " + d.Text + " NOT NULL PRIMARY KEY, fun " + d.Text +
				" NOT NULL, started BIGINT NOT NULL, record " + d.Blob + " NOT NULL)",
			"CREATE INDEX brine_jobs_by_start ON brine_jobs (started)",
		}},
		{"brine_returns", []string{
			"CREATE TABLE brine_returns (n " + d.Serial + ", jid " + d.Text + " NOT NULL, minion " +
				d.Text + " NOT NULL, answer " + d.Blob +
				" NOT NULL, record " + d.Blob +
				" NOT NULL, UNIQUE (jid, minion), FOREIGN KEY (jid) REFERENCES brine_jobs (jid) ON DELETE CASCADE)",
		}},
	}
}

// has reports whether a table exists.
func (d *Dialect) has(ctx context.Context, db *sql.DB, name string) bool {
	rows, err := db.QueryContext(ctx, "SELECT 1 FROM "+name+" WHERE 1 = 0") // a constant name
	if err != nil {
		return false
	}
	err = rows.Err()
	return rows.Close() == nil && err == nil
}

// marks writes parameters in the database's form. Statements contain no other question marks.
func (d *Dialect) marks(query string) string {
	if !d.Numbered {
		return query
	}
	var b strings.Builder
	n := 0
	for part := range strings.SplitSeq(query, "?") {
		if n > 0 {
			b.WriteString("$" + strconv.Itoa(n))
		}
		b.WriteString(part)
		n++
	}
	return b.String()
}

// ignoring returns an INSERT that keeps an existing row with an equal key.
func (d *Dialect) ignoring(table, rest string) string {
	return strings.NewReplacer("%s", "INTO "+table+rest, "%t", table).Replace(d.Ignore)
}
