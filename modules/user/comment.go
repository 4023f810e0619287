//go:build unix

package user

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// commentFields returns the fields of a user's comment, which commas separate, in order (the GECOS
// field of passwd(5)).
func commentFields() []string {
	return []string{"fullname", "roomnumber", "workphone", "homephone", "other"}
}

// setField changes a field of a user's comment and reports whether the user then has the value.
func (m *module) setField(ctx context.Context, name, key string, value, root any) (any, error) {
	text := ""
	if value != nil {
		text = data.Str(value)
	}
	now, err := m.details(name, root)
	switch {
	case err != nil:
		return nil, err
	case now.Len() == 0:
		return nil, loader.Exception("KeyError",
			"%s", data.Repr("getpwnam(): name not found: "+data.Repr(name)))
	case now.Text(key) == text:
		return true, nil
	}
	now.Set(key, text)
	var fields []string
	for _, f := range commentFields() {
		fields = append(fields, now.Text(f))
	}
	comment := strings.TrimRight(strings.Join(fields, ","), ",")
	if _, err := m.tool(ctx, "usermod", root, "-c", comment, "--", name); err != nil {
		return nil, err
	}
	now, err = m.details(name, root)
	return err == nil && now.Text(key) == text, err
}

type chfullnameArgs struct {
	Name     string
	Fullname any
	Root     any `default:"None"`
}

// chfullname changes the full name of a user and reports whether the user then has it.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' user.chfullname fred "Fred Jones"
func (m *module) chfullname(ctx context.Context, a chfullnameArgs) (any, error) {
	return m.setField(ctx, a.Name, "fullname", a.Fullname, a.Root)
}

type chroomnumberArgs struct {
	Name       string
	Roomnumber any
	Root       any `default:"None"`
}

// chroomnumber changes the room number of a user and reports whether the user then has it.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' user.chroomnumber fred 123
func (m *module) chroomnumber(ctx context.Context, a chroomnumberArgs) (any, error) {
	return m.setField(ctx, a.Name, "roomnumber", a.Roomnumber, a.Root)
}

type chworkphoneArgs struct {
	Name      string
	Workphone any
	Root      any `default:"None"`
}

// chworkphone changes the work phone number of a user and reports whether the user then has it.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' user.chworkphone fred 7735550123
func (m *module) chworkphone(ctx context.Context, a chworkphoneArgs) (any, error) {
	return m.setField(ctx, a.Name, "workphone", a.Workphone, a.Root)
}

type chhomephoneArgs struct {
	Name      string
	Homephone any
	Root      any `default:"None"`
}

// chhomephone changes the home phone number of a user and reports whether the user then has it.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' user.chhomephone fred 7735551234
func (m *module) chhomephone(ctx context.Context, a chhomephoneArgs) (any, error) {
	return m.setField(ctx, a.Name, "homephone", a.Homephone, a.Root)
}

type chotherArgs struct {
	Name  string
	Other any
	Root  any `default:"None"`
}

// chother changes the other data in a user's comment and reports whether the user then has it.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' user.chother fred 'on the second floor'
func (m *module) chother(ctx context.Context, a chotherArgs) (any, error) {
	return m.setField(ctx, a.Name, "other", a.Other, a.Root)
}
