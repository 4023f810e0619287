package auth

import (
	"errors"
	"fmt"
	"slices"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// The errors of this file are findings of package config: who may do what is not guessed from a wrong shape, so that this is a
// fault. What is right and allows nothing, or less than was meant, is a doubt.

// CheckACL says what is wrong in publisher_acl.
func CheckACL(option *data.Map) error {
	var errs []error
	for user, list := range option.All() {
		errs = append(errs, config.Below(user, checkRules(list)))
	}
	return errors.Join(errs...)
}

// CheckPeers says what is wrong in peer, peer_run or mine_get.
func CheckPeers(option *data.Map) error {
	_, err := ReadPeers(option)
	errs := []error{err}
	for ids, list := range option.All() {
		errs = append(errs, config.Below(ids, checkList(layered(list))))
	}
	return errors.Join(errs...)
}

// CheckBlacklist says what is wrong in publisher_acl_blacklist. Salt passes over what it does not know there, which then blocks
// nobody.
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
			errs = append(errs, config.Below(key, config.Expected("a list of names", list, "write "+name+": ['cmd.*']")))
		}
	}
	return errors.Join(errs...)
}

// CheckLogins says what is wrong in external_auth, where open makes a system.
func CheckLogins(option *data.Map, open func(name string) error) error {
	var errs []error
	for key, users := range option.All() {
		name := data.Str(key)
		if name != "auto" && !slices.Contains(SystemNames(), name) {
			errs = append(errs, config.Below(key, config.Doubt(noSystem(name))))
		} else if err := open(name); err != nil {
			errs = append(errs, config.Below(key, config.Doubt(fmt.Errorf("nobody can log in there: %w", err))))
		}
		errs = append(errs, config.Below(key, checkUsers(users)))
	}
	return errors.Join(errs...)
}

// noSystem says that there is no system of a name. Salt finds that out when somebody logs in there.
func noSystem(name string) error {
	f := config.NoSuch("authentication system", name, SystemNames(), ForeignSystems(),
		"Use one of them (rest asks a web service of yours), or remove the entry")
	f.Text += ", nobody can log in there"
	return f
}

func checkUsers(users any) error {
	m, ok := users.(*data.Map)
	if !ok && users != nil {
		return config.Expected("a mapping of users to what they may do", users, "write USER: [test.ping] lines below the name of the system")
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

// checkList looks at what should be a list of rules. One text is taken for a list of one, where Salt takes its letters for the
// beginnings of functions. Names without values are taken for the list of them, as Salt does.
func checkList(list any) error {
	const example = "write a list: - test.ping"
	switch v := list.(type) {
	case []any, data.Tuple:
		return nil
	case *data.Map:
		if keysAlone(v) {
			f := config.Expected("a list of functions", list, "begin each function with a dash: - test.ping")
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
	return config.Expected("a list of functions", list, "begin each function or target with a dash: - test.ping, or - 'web*': [test.ping]")
}

// SystemNames returns the names of the systems of external_auth that a master of ours has.
func SystemNames() []string { return []string{"file", "ldap", "pam", "rest", "sharedsecret"} }

// ForeignSystems returns the names of those that only a master of Salt's has (salt/auth).
func ForeignSystems() []string {
	return []string{"auto", "django", "keystone", "mysql", "pki", "yubico"}
}
