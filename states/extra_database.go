//go:build !small || database

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/mysql"
	"github.com/brineproject/brine/states/postgres"
	"github.com/brineproject/brine/states/rabbitmq"
)

// database returns the states for databases and message queues.
func (full) database() []loader.Plugin {
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
		rabbitmq.Upstream(),
		rabbitmq.User(),
		rabbitmq.Vhost(),
	}
}
