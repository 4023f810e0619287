package rabbitmq

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Policy returns the state rabbitmq_policy. Differently from Salt, apply_to is compared with what
// RabbitMQ has, and definition may be a dictionary.
func Policy() loader.Plugin {
	return state("rabbitmq_policy", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentPolicy),
			loader.F("present", m.presentPolicy),
		}
	})
}

type policyArgs struct {
	Name       string
	Pattern    any
	Definition any
	Priority   any    `default:"0"`
	Vhost      string `default:"'/'"`
	Runas      any    `default:"None"`
	ApplyTo    any    `default:"None"`
}

// policy returns a policy of a virtual host, nil if there is none.
func (m *module) policy(ctx context.Context, vhost, name string, runas any) (*data.Map, error) {
	all, err := loader.CallAs[*data.Map](ctx, m.env, "rabbitmq.list_policies", nil,
		data.NewMap("vhost", vhost, "runas", runas))
	of, _ := all.Value(vhost).(*data.Map)
	policy, _ := of.Value(name).(*data.Map)
	return policy, change.Raise(err)
}

// definition converts JSON to its value; an empty text stays one.
func definition(v any) (any, error) {
	text, ok := v.(string)
	if !ok || text == "" {
		return v, nil
	}
	return pyjson.Load(text)
}

// updates returns the parts in which a policy differs.
func (a policyArgs) updates(now *data.Map) []any {
	updates := []any{}
	differs := func(part string, is bool) {
		if is {
			updates = append(updates, part)
		}
	}
	differs("Pattern", now.Text("pattern") != data.Str(a.Pattern))
	had, hadErr := definition(now.Value("definition"))
	wanted, err := definition(a.Definition)
	differs("Definition", hadErr != nil || err != nil || !data.Equal(had, wanted))
	differs("Applyto", data.Truth(a.ApplyTo) && now.Text("apply_to") != data.Str(a.ApplyTo))
	priority := "0"
	if data.Truth(a.Priority) {
		priority = data.Str(a.Priority)
	}
	differs("Priority", now.Text("priority") != priority)
	return updates
}

// presentPolicy keeps a policy of a virtual host.
//
// pattern
//
//	A regular expression for the names that the policy is for.
//
// definition
//
//	JSON, or a dictionary.
//
// priority
//
//	A number. Default: 0.
//
// vhost
//
//	The virtual host. Default: /.
//
// apply_to
//
//	queues, exchanges or all. Default: all for a new policy.
//
// runas
//
//	The user to run rabbitmqctl as.
//
//	HA:
//	  rabbitmq_policy.present:
//	    - pattern: '.*'
//	    - definition: '{"ha-mode": "all"}'
func (m *module) presentPolicy(ctx context.Context, a policyArgs) (change.Result, error) {
	title := "Policy " + a.Vhost + " " + a.Name
	var output any
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) { return m.policy(ctx, a.Vhost, a.Name, a.Runas) },
		Wants: func(now *data.Map) *data.Map {
			if now == nil {
				return change.OldNew(&data.Map{}, a.Name)
			}
			updates := a.updates(now)
			return change.When(len(updates) > 0, change.OldNew(now, updates))
		},
		Apply: func(ctx context.Context, _ *data.Map) error {
			result, err := change.Ask[*data.Map](ctx, m.env, "rabbitmq.set_policy",
				[]any{a.Vhost, a.Name, a.Pattern, a.Definition},
				data.NewMap("priority", a.Priority, "runas", a.Runas, "apply_to", a.ApplyTo))
			output = result.Value("Set")
			return err
		},
		Texts: change.Texts{Same: title + " is already present"},
		Say: func(o change.Outcome[*data.Map]) any {
			switch {
			case o.Stage == change.StageWould && o.Before == nil:
				return title + " is set to be created"
			case o.Stage == change.StageWould:
				return title + " is set to be updated"
			case o.Stage == change.StageDone:
				return output
			}
			return nil
		},
	}.Ensure(ctx)
}

type absentPolicyArgs struct {
	Name  string
	Vhost string `default:"'/'"`
	Runas any    `default:"None"`
}

// absentPolicy keeps a policy of a virtual host deleted. runas is the user to run rabbitmqctl as.
//
//	HA:
//	  rabbitmq_policy.absent
func (m *module) absentPolicy(ctx context.Context, a absentPolicyArgs) (change.Result, error) {
	title := "Policy '" + a.Vhost + " " + a.Name + "' "
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			return change.Ask[bool](ctx, m.env, "rabbitmq.policy_exists", []any{a.Vhost, a.Name},
				data.NewMap("runas", a.Runas))
		},
		Wants: func(there bool) *data.Map {
			return change.When(there, data.NewMap("new", "", "old", a.Name))
		},
		Apply: func(ctx context.Context, _ bool) error {
			return change.Do(ctx, m.env, "rabbitmq.delete_policy", []any{a.Vhost, a.Name},
				data.NewMap("runas", a.Runas))
		},
		Texts: change.Texts{
			Same:  title + "is not present.",
			Would: title + "will be removed.",
			Done:  "Deleted",
		},
	}.Ensure(ctx)
}
