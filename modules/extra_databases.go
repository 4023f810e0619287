//go:build !small || databases

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/mysql"
	"github.com/brineproject/brine/modules/postgres"
	"github.com/brineproject/brine/modules/rabbitmq"
)

// databases returns the modules for databases and message queues.
func (full) databases() []loader.Plugin {
	return []loader.Plugin{
		mysql.Plugin(),
		postgres.Plugin(),
		rabbitmq.Plugin(),
	}
}
