//go:build !small || returners

package standard

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/returners/carbon"
	"github.com/brineproject/brine/returners/elasticsearch"
	"github.com/brineproject/brine/returners/highstate"
	"github.com/brineproject/brine/returners/influxdb"
	"github.com/brineproject/brine/returners/mysql"
	"github.com/brineproject/brine/returners/postgres"
	"github.com/brineproject/brine/returners/redis"
	"github.com/brineproject/brine/returners/sentry"
	"github.com/brineproject/brine/returners/slack"
	"github.com/brineproject/brine/returners/slackwebhook"
	"github.com/brineproject/brine/returners/smtp"
	"github.com/brineproject/brine/returners/splunk"
)

// extra returns the returners that a small build leaves out. sqlite3 is in no minion: it would add
// several megabytes.
func extra() []loader.Plugin {
	return []loader.Plugin{
		carbon.Plugin(), elasticsearch.Plugin(), highstate.Plugin(), influxdb.Plugin(),
		mysql.Database().Plugin(), postgres.Database(postgres.Name).Plugin(),
		postgres.Database(postgres.NameJSONB).Plugin(), redis.Plugin(), sentry.Plugin(), slack.Plugin(),
		slackwebhook.Plugin(), smtp.Plugin(), splunk.Plugin(),
	}
}
