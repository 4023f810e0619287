package draft

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// SigningPolicy returns a copy of a signing policy from pillar or configuration; an empty one if
// there is none.
func SigningPolicy(ctx context.Context, env *loader.Env, name any) (*data.Map, error) {
	if name == nil {
		return data.NewMap(), nil
	}
	const key = "x509_signing_policies"
	policies, err := calls.PillarGet[*data.Map](ctx, env, key, data.NewMap())
	if err == nil && !data.Truth(policies.Value(name)) {
		policies, err = calls.ConfigGet[*data.Map](ctx, env, key, data.NewMap())
	}
	if err != nil {
		return nil, err
	}
	if v := policies.Value(name); data.Truth(v) {
		return joined(v), nil
	}
	return data.NewMap(), nil
}

// joined returns a copy of a policy, which is a dictionary or a list of dictionaries, as one
// dictionary.
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

// Merge merges a signing policy over arguments, which it changes. A subject of the arguments is
// used if the policy has none; lists and dictionaries in both are joined.
func Merge(policy, args *data.Map) {
	if policy.Len() == 0 {
		return
	}
	policy = data.Clone(policy).(*data.Map)
	Modern(args)
	Modern(policy)
	if subjectArg, ok := args.Get("subject"); ok {
		joinSubjects(policy, args, subjectArg)
	}
	args.Update(policy)
}

func joinSubjects(policy, args *data.Map, subjectArg any) {
	for _, f := range fields() {
		if policy.Has(f.Word) {
			args.Delete("subject")
			return
		}
	}
	switch own := policy.Value("subject").(type) {
	case *data.Map:
		if m, ok := subjectArg.(*data.Map); ok {
			m = m.Clone()
			m.Update(own)
			policy.Set("subject", m)
		}
	case []any:
		if list, ok := subjectArg.([]any); ok {
			policy.Set("subject", append(append([]any{}, own...), list...))
		}
	}
}
