//go:build !small || databases

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/mysql"
	"github.com/brineproject/brine/states/postgres"
	"github.com/brineproject/brine/states/rabbitmq"
)

// databases returns the states for databases and message queues.
func (full) databases() []loader.Plugin {
	return []loader.Plugin{
		mysql.Database(),
		mysql.Grants(),
		mysql.Query(),
		mysql.User(),
		postgres.Database(),
		postgres.Extension(),
		postgres.Group(),
		postgres.Privileges(),
		postgres.Schema(),
		postgres.Tablespace(),
		postgres.User(),
		rabbitmq.Cluster(),
		rabbitmq.Extension(),
		rabbitmq.Policy(),
		rabbitmq.Upstream(),
		rabbitmq.User(),
		rabbitmq.Vhost(),
	}
}
