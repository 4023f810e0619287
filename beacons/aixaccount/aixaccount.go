// Package aixaccount is Salt's beacon aix_account: it reports accounts of AIX that are locked after
// failed logins (salt/beacons/aix_account.py).
package aixaccount

import (
	"context"
	"errors"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the beacon aix_account.
func Plugin() loader.Plugin {
	return beacons.Plugin("aix_account", "", func(env *loader.Env) (beacons.Beacon, error) {
		if env.GrainsNow().Text("kernel") != "AIX" {
			return nil, errors.New("Only available on AIX systems.") //nolint:staticcheck // Salt's text
		}
		return beacon{env}, nil
	})
}

type beacon struct{ env *loader.Env }

func (beacon) Validate(config any) (bool, string) {
	set, ok := config.(*data.Map)
	switch {
	case !ok:
		return false, "Configuration for aix_account beacon must be a dict."
	case !set.Has("user"):
		return false, "Configuration for aix_account beacon must include a user or ALL for all users."
	}
	return true, beacons.Valid
}

func (b beacon) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	locked, err := b.env.Call(ctx, "shadow.login_failures", []any{beacons.Merge(config).Value("user")}, nil)
	return []*data.Map{data.NewMap("accounts", locked)}, err
}
