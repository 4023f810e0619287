//go:build unix

package user

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// commentFields are what the comment of a user tells, in its order, with commas between (the GECOS field of passwd(5)).
func commentFields() []string {
	return []string{"fullname", "roomnumber", "workphone", "homephone", "other"}
}

// tell gives a field of a user's comment a value, and returns whether the user has it then.
func (m *module) tell(ctx context.Context, name, key string, value, root any) (any, error) {
	text := ""
	if value != nil {
		text = data.Str(value)
	}
	now, err := m.about(name, root)
	switch {
	case err != nil:
		return nil, err
	case now.Len() == 0:
		return nil, loader.Exception("KeyError", "%s", data.Repr("getpwnam(): name not found: "+data.Repr(name)))
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
	now, err = m.about(name, root)
	return err == nil && now.Text(key) == text, err
}

type chfullnameArgs struct {
	Name     string
	Fullname any
	Root     any `default:"None"`
}

// chfullname sets the full name of a user, and returns whether it has it.
//
// root : None
//
//	A directory to take for /.
//
// CLI Example:
//
//	salt '*' user.chfullname fred "Fred Jones"
func (m *module) chfullname(ctx context.Context, a chfullnameArgs) (any, error) {
	return m.tell(ctx, a.Name, "fullname", a.Fullname, a.Root)
}

type chroomnumberArgs struct {
	Name       string
	Roomnumber any
	Root       any `default:"None"`
}

// chroomnumber sets the room of a user, and returns whether it has it.
//
// root : None
//
//	A directory to take for /.
//
// CLI Example:
//
//	salt '*' user.chroomnumber fred 123
func (m *module) chroomnumber(ctx context.Context, a chroomnumberArgs) (any, error) {
	return m.tell(ctx, a.Name, "roomnumber", a.Roomnumber, a.Root)
}

type chworkphoneArgs struct {
	Name      string
	Workphone any
	Root      any `default:"None"`
}

// chworkphone sets the telephone of a user at work, and returns whether it has it.
//
// root : None
//
//	A directory to take for /.
//
// CLI Example:
//
//	salt '*' user.chworkphone fred 7735550123
func (m *module) chworkphone(ctx context.Context, a chworkphoneArgs) (any, error) {
	return m.tell(ctx, a.Name, "workphone", a.Workphone, a.Root)
}

type chhomephoneArgs struct {
	Name      string
	Homephone any
	Root      any `default:"None"`
}

// chhomephone sets the telephone of a user at home, and returns whether it has it.
//
// root : None
//
//	A directory to take for /.
//
// CLI Example:
//
//	salt '*' user.chhomephone fred 7735551234
func (m *module) chhomephone(ctx context.Context, a chhomephoneArgs) (any, error) {
	return m.tell(ctx, a.Name, "homephone", a.Homephone, a.Root)
}

type chotherArgs struct {
	Name  string
	Other any
	Root  any `default:"None"`
}

// chother sets what else is told of a user, and returns whether it has it.
//
// root : None
//
//	A directory to take for /.
//
// CLI Example:
//
//	salt '*' user.chother fred 'on the second floor'
func (m *module) chother(ctx context.Context, a chotherArgs) (any, error) {
	return m.tell(ctx, a.Name, "other", a.Other, a.Root)
}
