package postgres

import (
	"errors"
	"slices"
	"strings"

	"github.com/lib/pq"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/returners/sqlcache"
)

func dialect(name string) *sqlcache.Dialect {
	doc, whole := "text", "text"
	cast := ""
	if name == NameJSONB {
		doc, whole, cast = "jsonb", "jsonb NOT NULL", "::jsonb"
	}
	return &sqlcache.Dialect{
		Name: name, Numbered: true, Load: "load",
		Text: `VARCHAR(255) COLLATE "C"`, Serial: "BIGSERIAL PRIMARY KEY", Blob: "BYTEA",
		Jids: []string{"CREATE TABLE jids (jid varchar(255) PRIMARY KEY, load " + doc +
			" NOT NULL)"},
		Returns: []string{
			"CREATE TABLE salt_returns (fun varchar(50) NOT NULL, jid varchar(255) NOT NULL, return " + doc + " NOT NULL, full_ret " + whole +
				", id varchar(255) NOT NULL, success varchar(10) NOT NULL, alter_time TIMESTAMP WITH TIME ZONE DEFAULT now())",
			"CREATE INDEX idx_salt_returns_id ON salt_returns (id)",
			"CREATE INDEX idx_salt_returns_jid ON salt_returns (jid)",
			"CREATE INDEX idx_salt_returns_fun ON salt_returns (fun)",
			"CREATE INDEX idx_salt_returns_updated ON salt_returns (alter_time)",
		},
		Events: []string{
			"CREATE SEQUENCE IF NOT EXISTS seq_salt_events_id",
			"CREATE TABLE salt_events (id BIGINT NOT NULL UNIQUE DEFAULT nextval('seq_salt_events_id'), tag varchar(255) NOT NULL, data " + doc +
				" NOT NULL, alter_time TIMESTAMP WITH TIME ZONE DEFAULT NOW(), master_id varchar(255) NOT NULL)",
			"CREATE INDEX idx_salt_events_tag on salt_events (tag)",
		},
		Ignore: "INSERT %s ON CONFLICT DO NOTHING", Locked: " FOR UPDATE",
		InsertJob: "INSERT INTO jids (jid, load) VALUES (?, ?" + cast +
			") ON CONFLICT (jid) DO NOTHING",
		InsertReturn: "INSERT INTO salt_returns (fun, jid, return, id, success, full_ret) SELECT ?::text, ?::text, ?" + castOr(cast) + ", ?::text, ?::text, ?" + castOr(cast) +
			" WHERE NOT EXISTS (SELECT 1 FROM salt_returns WHERE jid = ? AND id = ? AND full_ret = ?" + cast + ")",
		InsertEvent: "INSERT INTO salt_events (tag, data, master_id) VALUES (?, ?" + cast + ", ?)",
		ReturnRow: func(r *sqlcache.Row) []any {
			return []any{r.Fun, r.JID, r.Value, r.Minion, success(r.Success), r.Whole, r.JID,
				r.Minion, r.Whole}
		},
		Foreign: "SELECT s.id, s.full_ret, s.fun, s.success, extract(epoch FROM s.alter_time)::float8 FROM salt_returns s WHERE s.jid = ? " +
			"AND s.full_ret IS NOT NULL AND NOT EXISTS (SELECT 1 FROM brine_returns b WHERE b.jid = s.jid AND b.minion = s.id) ORDER BY s.alter_time",
		Whole: true,
		Purge: []string{
			"DELETE FROM jids WHERE jid IN (SELECT DISTINCT jid FROM salt_returns WHERE alter_time < to_timestamp(?))",
			"DELETE FROM salt_returns WHERE alter_time < to_timestamp(?)",
			"DELETE FROM salt_events WHERE alter_time < to_timestamp(?)",
		},
		Stamp:   func(micros int64) any { return float64(micros) / 1e6 },
		Again:   func(err error) bool { return coded(err, "40001", "40P01") },
		Refused: refused,
	}
}

// castOr returns the type of a value in a SELECT.
func castOr(cast string) string {
	if cast == "" {
		return "::text"
	}
	return cast
}

// success converts a truth value as Salt's driver writes it to a text column.
func success(v any) any {
	if data.Truth(v) {
		return "true"
	}
	return "false"
}

// refused reports errors of the classes 22 (data) and 23 (constraints), and JSON that is too large.
func refused(err error) bool {
	var e *pq.Error
	return errors.As(err, &e) && (strings.HasPrefix(string(e.Code), "22") ||
		strings.HasPrefix(string(e.Code), "23") || string(e.Code) == "54000")
}

func coded(err error, codes ...string) bool {
	var e *pq.Error
	return errors.As(err, &e) && slices.Contains(codes, string(e.Code))
}
