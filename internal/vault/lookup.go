package vault

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A Caller calls a function by name, as loader.Env.Call does.
type Caller func(ctx context.Context, fun string, args []any, kwargs *data.Map) (any, error)

// Load is Read for a master too, whose addresses sdb://PROFILE/KEY are looked up when they are needed:
// a minion's are looked up at its start. The profile may have any driver but vault.
func Load(ctx context.Context, opts *data.Map, call Caller) (*Config, error) {
	c := Read(opts)
	for name, field := range map[string]*string{"url": &c.url, "namespace": &c.namespace,
		"auth: token": &c.token, "auth: role_id": &c.roleID, "auth: secret_id": &c.secretID} {
		if err := lookUp(ctx, opts, call, name, field); err != nil {
			return nil, err
		}
	}
	for i := range c.keys {
		if err := lookUp(ctx, opts, call, "keys", &c.keys[i]); err != nil {
			return nil, err
		}
	}
	c.url = strings.TrimRight(c.url, "/")
	return c, nil
}

// lookUp replaces an address by its value.
func lookUp(ctx context.Context, opts *data.Map, call Caller, name string, field *string) error {
	if !fromSDB(*field) {
		return nil
	}
	profile, _, _ := strings.Cut(strings.TrimPrefix(*field, "sdb://"), "/")
	m, _ := opts.Value(profile).(*data.Map)
	switch {
	case m.Text("driver") == "":
		return loader.Execution("vault: %s: sdb has no profile %s", name, profile)
	case m.Text("driver") == "vault":
		return loader.Execution("vault: %s: the profile %s needs the option vault itself", name, profile)
	}
	v, err := call(ctx, "sdb.get", []any{*field}, nil)
	if err != nil {
		return loader.Execution("vault: %s: look up %s: %w", name, *field, err)
	}
	if v == nil {
		return loader.Execution("vault: %s: %s has no value", name, *field)
	}
	*field = data.Str(v)
	return nil
}
