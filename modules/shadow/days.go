//go:build linux

package shadow

import (
	"context"

	"github.com/brineproject/brine/data"
)

// A span is one of the day fields of an entry that chage sets.
type span struct {
	key, option string
	// trusted skips the check of the entry: chage accepts forms that it does not write (-1, dates).
	trusted bool
}

// set sets a day field of a user and reports whether the entry then has that value.
func (m *module) set(ctx context.Context, name string, s span, value, root any) (any, error) {
	e, err := m.entry(name, root)
	if err != nil || e.name == "" {
		return false, err
	}
	if data.Equal(e.day(s.key), value) {
		return true, nil
	}
	ok, err := m.tool(ctx, "chage", root, s.option, value, "--", name)
	if err != nil || s.trusted {
		return ok, err
	}
	e, err = m.entry(name, root)
	return err == nil && data.Equal(e.day(s.key), value), err
}

type setInactdaysArgs struct {
	Name      string
	Inactdays any
	Root      any `default:"None"`
}

// setInactdays sets for how many days an expired password may still be changed at login.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' shadow.set_inactdays username 7
func (m *module) setInactdays(ctx context.Context, a setInactdaysArgs) (any, error) {
	return m.set(ctx, a.Name, span{key: "inact", option: "-I"}, a.Inactdays, a.Root)
}

type setMaxdaysArgs struct {
	Name    string
	Maxdays any
	Root    any `default:"None"`
}

// setMaxdays sets the maximum age of a password in days.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' shadow.set_maxdays username 90
func (m *module) setMaxdays(ctx context.Context, a setMaxdaysArgs) (any, error) {
	return m.set(ctx, a.Name, span{key: "max", option: "-M"}, a.Maxdays, a.Root)
}

type setMindaysArgs struct {
	Name    string
	Mindays any
	Root    any `default:"None"`
}

// setMindays sets the minimum number of days between password changes.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' shadow.set_mindays username 7
func (m *module) setMindays(ctx context.Context, a setMindaysArgs) (any, error) {
	return m.set(ctx, a.Name, span{key: "min", option: "-m"}, a.Mindays, a.Root)
}

type setWarndaysArgs struct {
	Name     string
	Warndays any
	Root     any `default:"None"`
}

// setWarndays sets how many days before expiry of the password the user is warned.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' shadow.set_warndays username 7
func (m *module) setWarndays(ctx context.Context, a setWarndaysArgs) (any, error) {
	return m.set(ctx, a.Name, span{key: "warn", option: "-W"}, a.Warndays, a.Root)
}

type setDateArgs struct {
	Name string
	Date any
	Root any `default:"None"`
}

// setDate sets the date of the last password change: days since 1970, or a date in a form that
// chage accepts. With 0 the user must change the password at login.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' shadow.set_date username 0
func (m *module) setDate(ctx context.Context, a setDateArgs) (any, error) {
	return m.set(ctx, a.Name, span{"lstchg", "-d", true}, a.Date, a.Root)
}

type setExpireArgs struct {
	Name   string
	Expire any
	Root   any `default:"None"`
}

// setExpire sets the date on which the account expires: days since 1970, or a date in a form that
// chage accepts; -1 for never.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' shadow.set_expire username -1
func (m *module) setExpire(ctx context.Context, a setExpireArgs) (any, error) {
	return m.set(ctx, a.Name, span{"expire", "-E", true}, a.Expire, a.Root)
}
