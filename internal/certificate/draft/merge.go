package draft

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// SigningPolicy returns the signing policy of a name, from pillar or configuration; an empty one where there is none. It is a copy.
func SigningPolicy(ctx context.Context, env *loader.Env, name any) (*data.Map, error) {
	if name == nil {
		return data.NewMap(), nil
	}
	for _, fun := range []string{"pillar.get", "config.get"} {
		v, err := env.Call(ctx, fun, []any{"x509_signing_policies", data.NewMap()}, nil)
		if err != nil {
			return nil, err
		}
		if policies, ok := v.(*data.Map); ok && data.Truth(policies.Value(name)) {
			return joined(policies.Value(name)), nil
		}
	}
	return data.NewMap(), nil
}

// joined returns a policy, which is a dictionary or a list of dictionaries, as one of its own.
func joined(v any) *data.Map {
	all := data.NewMap()
	parts, ok := v.([]any)
	if !ok {
		parts = []any{v}
	}
	for _, part := range parts {
		if m, ok := part.(*data.Map); ok {
			all.Update(data.Clone(m).(*data.Map))
		}
	}
	return all
}

// Merge lets a signing policy count before arguments, which it changes. A subject of the arguments counts where the policy has none; lists and
// dictionaries of both are joined.
func Merge(policy, args *data.Map) {
	if policy.Len() == 0 {
		return
	}
	policy = data.Clone(policy).(*data.Map)
	Modern(args)
	Modern(policy)
	if wish, ok := args.Get("subject"); ok {
		joinSubjects(policy, args, wish)
	}
	args.Update(policy)
}

func joinSubjects(policy, args *data.Map, wish any) {
	for _, f := range fields() {
		if policy.Has(f.Word) {
			args.Delete("subject")
			return
		}
	}
	switch own := policy.Value("subject").(type) {
	case *data.Map:
		if m, ok := wish.(*data.Map); ok {
			m = m.Clone()
			m.Update(own)
			policy.Set("subject", m)
		}
	case []any:
		if list, ok := wish.([]any); ok {
			policy.Set("subject", append(append([]any{}, own...), list...))
		}
	}
}
