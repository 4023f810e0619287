//go:build !small || returners

package standard

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/returners/mysql"
	"github.com/brineproject/brine/returners/postgres"
	"github.com/brineproject/brine/returners/redis"
	"github.com/brineproject/brine/returners/smtp"
)

// extra returns the returners that a small build leaves out. sqlite3 is in no minion: it would add
// several megabytes.
func extra() []loader.Plugin {
	return []loader.Plugin{
		mysql.Database().Plugin(), postgres.Database(postgres.Name).Plugin(),
		postgres.Database(postgres.NameJSONB).Plugin(), redis.Plugin(), smtp.Plugin(),
	}
}
