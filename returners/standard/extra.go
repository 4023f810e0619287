//go:build !small

package standard

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/returners/mysql"
	"github.com/brineproject/brine/returners/postgres"
	"github.com/brineproject/brine/returners/redis"
	"github.com/brineproject/brine/returners/smtp"
)

// extra are the returners that a small build leaves out. sqlite3 is in none: it would make a minion larger by some megabytes.
func extra() []loader.Plugin {
	return []loader.Plugin{
		mysql.Database().Plugin(), postgres.Database(postgres.Name).Plugin(),
		postgres.Database(postgres.NameJSONB).Plugin(), redis.Plugin(), smtp.Plugin(),
	}
}
