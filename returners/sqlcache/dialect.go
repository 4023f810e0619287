package sqlcache

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
)

// A Dialect is what databases and Salt's returners for them differ in. Statements have a question mark for each parameter.
type Dialect struct {
	Name     string // of the returner
	Numbered bool   // parameters are $1, $2
	// Types of columns in the tables of ours: a text that tells case and is at most 255 bytes, a number that counts up by
	// itself and is the key, and bytes without bound.
	Text, Serial, Blob string

	// Salt's tables, each with the statements that make it.
	Jids, Returns, Events []string

	Load         string // the column load, in quotes where it needs them
	Ignore       string // an INSERT that leaves an equal key alone: %s is the rest of it, %t the table
	Locked       string // what a SELECT ends with that locks the row
	InsertJob    string // Salt's row of a job: jid, load
	InsertReturn string // Salt's row of a return: see ReturnRow
	InsertEvent  string // Salt's row of an event: tag, data, id of the master
	// ReturnRow returns the parameters of InsertReturn.
	ReturnRow func(r *Row) []any
	// Foreign reads returns of a job without a record: minion, JSON, function, success, and the time in seconds or as text.
	// Parameter: jid.
	Foreign string
	// Whole tells that the JSON of Foreign is the whole return; else it is the value alone.
	Whole bool

	Purge []string // drop what is older than a time, in Salt's tables alone; one parameter each
	Stamp func(micros int64) any

	Again   func(error) bool // the database has ended the transaction because of another
	Refused func(error) bool // the database does not take the values as they are
}

// A Row is what Salt's table holds of a return.
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

// tables are those that a job cache needs.
func (d *Dialect) tables() []table {
	return []table{
		{"jids", d.Jids},
		{"salt_returns", d.Returns},
		{"salt_events", d.Events},
		{"brine_jobs", []string{
			"CREATE TABLE brine_jobs (jid " + d.Text + " NOT NULL PRIMARY KEY, fun " + d.Text + " NOT NULL, started BIGINT NOT NULL, record " + d.Blob + " NOT NULL)",
			"CREATE INDEX brine_jobs_by_start ON brine_jobs (started)",
		}},
		{"brine_returns", []string{
			"CREATE TABLE brine_returns (n " + d.Serial + ", jid " + d.Text + " NOT NULL, minion " + d.Text + " NOT NULL, answer " + d.Blob +
				" NOT NULL, record " + d.Blob + " NOT NULL, UNIQUE (jid, minion), FOREIGN KEY (jid) REFERENCES brine_jobs (jid) ON DELETE CASCADE)",
		}},
	}
}

// has reports whether a table is there.
func (d *Dialect) has(ctx context.Context, db *sql.DB, name string) bool {
	rows, err := db.QueryContext(ctx, "SELECT 1 FROM "+name+" WHERE 1 = 0") // a name of ours
	if err != nil {
		return false
	}
	err = rows.Err()
	return rows.Close() == nil && err == nil
}

// marks writes parameters as the database wants them. The statements are ours and hold no question mark but these.
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

// ignoring returns an INSERT that leaves an equal key alone.
func (d *Dialect) ignoring(table, rest string) string {
	return strings.NewReplacer("%s", "INTO "+table+rest, "%t", table).Replace(d.Ignore)
}
