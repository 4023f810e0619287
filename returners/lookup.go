package returners

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
)

// A Lookup is a [Returner] that also reads the stored data: get_jid, get_fun, get_jids and
// get_minions of Salt's returners, which the module ret calls. It reads the format of Salt's
// returner of the same name. An empty result is no error.
type Lookup interface {
	// JID returns the returns of a job, by minion.
	JID(ctx context.Context, jid string) (*data.Map, error)
	// Fun returns each minion's last return for a function, by minion.
	Fun(ctx context.Context, fun string) (*data.Map, error)
	// JIDs returns the jobs by ID, each in the form of [Instance].
	JIDs(ctx context.Context) (*data.Map, error)
	// Minions returns the ids of the minions that have returned, sorted.
	Minions(ctx context.Context) ([]string, error)
}

// lookups returns the functions of a Lookup.
func lookups(l Lookup) []loader.Func {
	type jidArgs struct {
		JID string `name:"jid"`
	}
	type funArgs struct{ Fun string }
	type noArgs struct{}
	return []loader.Func{
		loader.F("get_jid", func(ctx context.Context, a jidArgs) (any, error) { return l.JID(ctx, a.JID) }),
		loader.F("get_fun", func(ctx context.Context, a funArgs) (any, error) { return l.Fun(ctx, a.Fun) }),
		loader.F("get_jids", func(ctx context.Context, _ noArgs) (any, error) { return l.JIDs(ctx) }),
		loader.F("get_minions", func(ctx context.Context, _ noArgs) (any, error) {
			ids, err := l.Minions(ctx)
			return data.Values(ids), err
		}),
	}
}

// Instance returns a publication in Salt's form for lists of jobs (salt/utils/jid.py,
// format_jid_instance).
func Instance(jid string, load *data.Map) *data.Map {
	m := data.NewMap("Function", or(load, "fun", "unknown-function"),
		"Arguments", arguments(load.Value("arg")), "Target", or(load, "tgt", "unknown-target"),
		"Target-type", or(load, "tgt_type", "list"), "User", or(load, "user", "root"))
	kwargs, _ := load.Value("kwargs").(*data.Map)
	for _, from := range []*data.Map{load, kwargs} {
		if v, ok := from.Get("metadata"); ok {
			m.Set("Metadata", v)
			break
		}
	}
	m.Set("StartTime", job.ID(jid).StartTime())
	return m
}

func or(m *data.Map, key string, otherwise any) any {
	if v, ok := m.Get(key); ok {
		return v
	}
	return otherwise
}

func arguments(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case data.Tuple:
		return v
	}
	return []any{}
}
