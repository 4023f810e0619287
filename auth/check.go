package auth

import (
	"errors"
	"fmt"
	"slices"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// The functions in this file return findings of package config. A malformed rule is a fault, since
// rights are not guessed from it. A valid rule that allows nothing, or less than intended, is a
// doubt.

// CheckACL reports errors in publisher_acl.
func CheckACL(option *data.Map) error {
	var errs []error
	for user, list := range option.All() {
		errs = append(errs, config.Below(user, checkRules(list)))
	}
	return errors.Join(errs...)
}

// CheckPeers reports errors in peer, peer_run or mine_get.
func CheckPeers(option *data.Map) error {
	_, err := ReadPeers(option)
	errs := []error{err}
	for ids, list := range option.All() {
		errs = append(errs, config.Below(ids, checkList(layered(list))))
	}
	return errors.Join(errs...)
}

// CheckBlacklist reports errors in publisher_acl_blacklist. Salt ignores unknown entries, which
// then block nobody.
func CheckBlacklist(option *data.Map) error {
	known := []string{"users", "modules"}
	var errs []error
	for key, list := range option.All() {
		name := data.Str(key)
		if !slices.Contains(known, name) {
			errs = append(errs, config.Below(key, config.NoSuch("list", name, known, nil)))
			continue
		}
		switch list.(type) {
		case nil, string, []any, *data.Map:
		default:
			errs = append(errs, config.Below(key,
				config.Expected("a list of names", list, "write "+name+": ['cmd.*']")))
		}
	}
	return errors.Join(errs...)
}

// CheckLogins reports errors in external_auth. own reports whether a system is users' own code, and
// open creates one of Brine's from its name.
func CheckLogins(
	option *data.Map, own func(name string) bool, open func(name string) error,
) error {
	var errs []error
	for key, users := range option.All() {
		name := data.Str(key)
		if name == KeySystem {
			errs = append(errs, config.Below(key, config.Doubt(fmt.Errorf("nobody can log in there: %w", errKeySystem))))
			continue
		}
		if own(name) {
			errs = append(errs, config.Below(key, checkUsers(users)))
			continue
		}
		if name != "auto" && !slices.Contains(SystemNames(), name) {
			errs = append(errs, config.Below(key, config.Doubt(noSystem(name))))
		} else if err := open(name); err != nil {
			errs = append(errs, config.Below(key,
				config.Doubt(fmt.Errorf("nobody can log in there: %w", err))))
		}
		errs = append(errs, config.Below(key, checkUsers(users)))
	}
	return errors.Join(errs...)
}

// noSystem returns the error for an unknown system. Salt detects this only at the first login.
func noSystem(name string) error {
	f := config.NoSuch("authentication system", name, SystemNames(), ForeignSystems(),
		"Use one of them (rest asks a web service of yours), or remove the entry")
	f.Text += ", nobody can log in there"
	return f
}

func checkUsers(users any) error {
	m, ok := users.(*data.Map)
	if !ok && users != nil {
		return config.Expected("a mapping of users to what they may do", users,
			"write USER: [test.ping] lines below the name of the system")
	}
	var errs []error
	for user, list := range m.All() {
		if !isSetting(data.Str(user)) {
			errs = append(errs, config.Below(user, checkRules(list)))
		}
	}
	return errors.Join(errs...)
}

func checkRules(list any) error {
	_, err := parseRules(list)
	return errors.Join(checkList(list), err)
}

// checkList checks a value that should be a list of rules. A single string counts as a list of one,
// whereas Salt treats its letters as function prefixes. A map without values counts as the list of
// its keys, as in Salt.
func checkList(list any) error {
	const example = "write a list: - test.ping"
	switch v := list.(type) {
	case []any, data.Tuple:
		return nil
	case *data.Map:
		if keysAlone(v) {
			f := config.Expected("a list of functions", list,
				"begin each function with a dash: - test.ping")
			f.Text += ", whose names are taken as the list"
			f.Doubt = true
			return f
		}
	case string:
		f := config.Expected("a list of functions", list, example)
		f.Text += ", which is taken as a list of one"
		f.Doubt = true
		return f
	}
	if list == nil {
		return config.Expected("a list of functions", list, example)
	}
	return config.Expected("a list of functions", list,
		"begin each function or target with a dash: - test.ping, or - 'web*': [test.ping]")
}

// SystemNames returns the names of the external_auth systems supported by Brine.
func SystemNames() []string {
	return []string{"file", "ldap", OIDCSystem, "pam", "rest", "sharedsecret"}
}

// PasswordSystems returns those of them in which a password proves a user. Who logs in at a provider has
// no password for the master.
func PasswordSystems() []string {
	return slices.DeleteFunc(SystemNames(), func(name string) bool { return name == OIDCSystem })
}

// ForeignSystems returns the names of external_auth systems supported only by Salt (salt/auth).
func ForeignSystems() []string {
	return []string{"auto", "django", "keystone", "mysql", "pki", "yubico"}
}
