package sqlite3

import (
	"errors"
	"time"

	"modernc.org/sqlite"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/returners/sqlcache"
)

// stampLayout is Salt's format of a time: str(datetime.datetime.now()).
const stampLayout = "2006-01-02 15:04:05.000000"

func dialect() *sqlcache.Dialect {
	return &sqlcache.Dialect{
		Name: Name, Load: "load",
		Text: "TEXT", Serial: "INTEGER PRIMARY KEY AUTOINCREMENT", Blob: "BLOB",
		Jids: []string{"CREATE TABLE jids (jid TEXT PRIMARY KEY, load TEXT NOT NULL)"},
		Returns: []string{
			"CREATE TABLE salt_returns (fun TEXT KEY, jid TEXT KEY, id TEXT KEY, fun_args TEXT, date TEXT NOT NULL, full_ret TEXT NOT NULL, success TEXT NOT NULL)",
			"CREATE INDEX salt_returns_by_jid ON salt_returns (jid)",
		},
		Events: []string{"CREATE TABLE IF NOT EXISTS salt_events (id INTEGER PRIMARY KEY AUTOINCREMENT, tag TEXT NOT NULL, data TEXT NOT NULL, " +
			"alter_time TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, master_id TEXT NOT NULL)"},
		Ignore:    "INSERT OR IGNORE %s",
		InsertJob: "INSERT OR IGNORE INTO jids (jid, load) VALUES (?, ?)",
		InsertReturn: "INSERT INTO salt_returns (fun, jid, id, fun_args, date, full_ret, success) SELECT ?, ?, ?, ?, ?, ?, ? " +
			"WHERE NOT EXISTS (SELECT 1 FROM salt_returns WHERE fun = ? AND jid = ? AND id = ? AND full_ret = ?)",
		InsertEvent: "INSERT INTO salt_events (tag, data, master_id) VALUES (?, ?, ?)",
		ReturnRow: func(r *sqlcache.Row) []any {
			return []any{r.Fun, r.JID, r.Minion, funArgs(r.FunArgs),
				time.UnixMicro(r.Now).Format(stampLayout), r.Value, success(r.Success),
				r.Fun, r.JID, r.Minion, r.Value}
		},
		Foreign: "SELECT s.id, s.full_ret, coalesce(s.fun, ''), s.success, s.date FROM salt_returns s WHERE s.jid = ? AND NOT EXISTS " +
			"(SELECT 1 FROM brine_returns b WHERE b.jid = s.jid AND b.minion = s.id) ORDER BY s.rowid",
		Purge: []string{
			"DELETE FROM jids WHERE jid IN (SELECT DISTINCT jid FROM salt_returns WHERE date < ?)",
			"DELETE FROM salt_returns WHERE date < ?",
			"DELETE FROM salt_events WHERE alter_time < datetime(?, 'utc')",
		},
		Stamp: func(micros int64) any { return time.UnixMicro(micros).Format(stampLayout) },
		// SQLITE_LOCKED, SQLITE_BUSY_SNAPSHOT
		Again: func(err error) bool { return coded(err, 6, 517) },
		// SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH
		Refused: func(err error) bool { return coded(err, 18, 19, 20) },
	}
}

// funArgs returns str() of the arguments, or NULL.
func funArgs(v any) any {
	if !data.Truth(v) {
		return nil
	}
	return data.Str(v)
}

// success converts a truth value as Salt's driver writes it to a text column; nil becomes an empty
// text.
func success(v any) any {
	switch {
	case v == nil:
		return ""
	case data.Truth(v):
		return "1"
	}
	return "0"
}

func coded(err error, codes ...int) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	for _, c := range codes {
		if e.Code() == c || c < 256 && e.Code()&0xff == c {
			return true
		}
	}
	return false
}
