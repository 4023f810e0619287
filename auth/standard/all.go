// Package standard provides all external_auth systems.
package standard

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/auth/file"
	"github.com/brineproject/brine/auth/ldap"
	"github.com/brineproject/brine/auth/oidc"
	"github.com/brineproject/brine/auth/pam"
	"github.com/brineproject/brine/auth/rest"
	"github.com/brineproject/brine/auth/sharedsecret"
	"github.com/brineproject/brine/data"
)

var errAuto = errors.New("it lets everybody in, whatever the password, and is not supported; for tests use the system file")

func systems() map[string]func(*data.Map) (auth.System, error) {
	return map[string]func(*data.Map) (auth.System, error){
		"file": file.Open, "ldap": ldap.Open, auth.OIDCSystem: oidc.Open, "pam": pam.Open, "rest": rest.Open,
		"sharedsecret": sharedsecret.Open,
		"auto":         func(*data.Map) (auth.System, error) { return nil, errAuto },
	}
}

// Open creates the named system from the options of a master.
func Open(name string, opts *data.Map) (auth.System, error) {
	open, ok := systems()[name]
	if !ok {
		return nil, fmt.Errorf("this version has no such system; it has %v",
			slices.Sorted(maps.Keys(systems())))
	}
	return open(opts)
}
