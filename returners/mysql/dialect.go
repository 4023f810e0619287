package mysql

import (
	"errors"

	"github.com/go-sql-driver/mysql"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/returners/sqlcache"
)

func dialect() *sqlcache.Dialect {
	return &sqlcache.Dialect{
		Name: Name, Load: "`load`",
		Text: "VARBINARY(255)", Serial: "BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY",
		Blob: "LONGBLOB",
		Jids: []string{"CREATE TABLE jids (`jid` varchar(255) NOT NULL, `load` mediumtext NOT NULL, UNIQUE KEY `jid` (`jid`)) " + engine},
		Returns: []string{"CREATE TABLE salt_returns (`fun` varchar(50) NOT NULL, `jid` varchar(255) NOT NULL, `return` mediumtext NOT NULL, " +
			"`id` varchar(255) NOT NULL, `success` varchar(10) NOT NULL, `full_ret` mediumtext NOT NULL, " +
			"`alter_time` TIMESTAMP DEFAULT CURRENT_TIMESTAMP, KEY `id` (`id`), KEY `jid` (`jid`), KEY `fun` (`fun`)) " + engine},
		Events: []string{"CREATE TABLE salt_events (`id` BIGINT NOT NULL AUTO_INCREMENT, `tag` varchar(255) NOT NULL, `data` mediumtext NOT NULL, " +
			"`alter_time` TIMESTAMP DEFAULT CURRENT_TIMESTAMP, `master_id` varchar(255) NOT NULL, PRIMARY KEY (`id`), KEY `tag` (`tag`)) " + engine},
		Ignore: "INSERT %s ON DUPLICATE KEY UPDATE %t.jid = %t.jid", Locked: " FOR UPDATE",
		InsertJob: "INSERT INTO jids (`jid`, `load`) VALUES (?, ?) ON DUPLICATE KEY UPDATE `jid` = `jid`",
		InsertReturn: "INSERT INTO salt_returns (`fun`, `jid`, `return`, `id`, `success`, `full_ret`) SELECT ?, ?, ?, ?, ?, ? FROM DUAL " +
			"WHERE NOT EXISTS (SELECT 1 FROM salt_returns WHERE jid = ? AND id = ? AND CAST(full_ret AS BINARY) = CAST(? AS BINARY))",
		InsertEvent: "INSERT INTO salt_events (`tag`, `data`, `master_id`) VALUES (?, ?, ?)",
		ReturnRow: func(r *sqlcache.Row) []any {
			return []any{r.Fun, r.JID, r.Value, r.Minion, success(r.Success), r.Whole, r.JID,
				r.Minion, r.Whole}
		},
		Foreign: "SELECT s.id, s.full_ret, s.fun, s.success, UNIX_TIMESTAMP(s.alter_time) FROM salt_returns s WHERE s.jid = ? AND NOT EXISTS " +
			"(SELECT 1 FROM brine_returns b WHERE b.jid = s.jid AND b.minion = s.id)",
		Whole: true,
		Purge: []string{
			"DELETE FROM jids WHERE jid IN (SELECT DISTINCT jid FROM salt_returns WHERE alter_time < FROM_UNIXTIME(?))",
			"DELETE FROM salt_returns WHERE alter_time < FROM_UNIXTIME(?)",
			"DELETE FROM salt_events WHERE alter_time < FROM_UNIXTIME(?)",
		},
		Stamp:   func(micros int64) any { return float64(max(micros, 0)) / 1e6 },
		Again:   func(err error) bool { return numbered(err, 1213, 1205) },
		Refused: func(err error) bool { return numbered(err, 1048, 1264, 1267, 1292, 1300, 1366, 1406) },
	}
}

const engine = "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"

// success converts a truth value as Salt's driver writes it to a text column.
func success(v any) any {
	if data.Truth(v) {
		return "1"
	}
	return "0"
}

// numbered reports whether err is a server error with one of these numbers.
func numbered(err error, numbers ...uint16) bool {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return false
	}
	for _, n := range numbers {
		if e.Number == n {
			return true
		}
	}
	return false
}
