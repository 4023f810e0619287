package rabbitmq

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Cluster returns the state rabbitmq_cluster.
func Cluster() loader.Plugin {
	return state("rabbitmq_cluster", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("join", m.joined),
			loader.F("joined", m.joined),
		}
	})
}

type joinedArgs struct {
	Name    string
	Host    string
	User    string `default:"'rabbit'"`
	RAMNode any    `name:"ram_node" default:"None"`
	Runas   any    `default:"'root'"`
}

// joined makes the node a member of the cluster of another node, USER@HOST. RabbitMQ is stopped
// meanwhile.
//
// ram_node
//
//	Keep the data of the node in memory only.
//
// runas
//
//	The user to run rabbitmqctl as.
//
//	rabbit@rabbit.example.com:
//	  rabbitmq_cluster.joined:
//	    - host: rabbit.example.com
func (m *module) joined(ctx context.Context, a joinedArgs) (change.Result, error) {
	node := a.User + "@" + a.Host
	var output any
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			status, err := change.Ask[string](ctx, m.env, "rabbitmq.cluster_status", nil, nil)
			return strings.Contains(status, node), err
		},
		Wants: func(is bool) *data.Map { return change.When(!is, change.OldNew("", node)) },
		Apply: func(ctx context.Context, _ bool) error {
			result, err := change.Ask[*data.Map](ctx, m.env, "rabbitmq.join_cluster",
				[]any{a.Host, a.User, a.RAMNode}, data.NewMap("runas", a.Runas))
			output = result.Value("Join")
			return err
		},
		Texts: change.Texts{Same: "Already in cluster", Would: "Node is set to join cluster " + node},
		Say: func(o change.Outcome[bool]) any {
			if o.Stage == change.StageDone {
				return output
			}
			return nil
		},
	}.Ensure(ctx)
}
