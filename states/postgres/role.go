package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pgverifier"
	"github.com/brineproject/brine/state/change"
)

// A kind is users or groups: how Salt calls them, at the start of a sentence and within.
type kind struct {
	*module
	title, name string
}

// A role is what a state wants one to be. These are the parameters of postgres_user.present; what is
// for users alone is nil for groups.
type role struct {
	Name string
	rights
	Replication     any `default:"None"`
	Inherit         any `default:"None"`
	Login           any `default:"None"`
	Password        any `default:"None"`
	DefaultPassword any `default:"None"`
	RefreshPassword any `default:"None"`
	ValidUntil      any `default:"None"`
	Groups          any `default:"None"`
	server
}

type rights struct {
	Createdb    any `default:"None"`
	Createroles any `default:"None"`
	Encrypted   any `default:"None"`
	Superuser   any `default:"None"`
}

func (k kind) present(ctx context.Context, a role) (any, error) {
	now, err := k.role(ctx, a)
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	if now == nil {
		return k.create(ctx, a)
	}
	update, err := k.differing(ctx, a, now, data.Truth(a.RefreshPassword))
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	switch {
	case update.Len() == 0:
		return change.Done(a.Name, k.title+" "+a.Name+" is already present"), nil
	case change.Test(ctx):
		return change.Would(a.Name, data.NewMap(a.Name, update), k.title+" "+a.Name+" is set to be updated"), nil
	}
	password := a.Password
	if !update.Has("password") {
		password = nil
	}
	if ok, err := k.call(ctx, k.name+"_update", a.server, a.arguments(password), a.Name); err != nil || !data.Truth(ok) {
		return failure(a.Name, "Failed to update "+k.name+" "+a.Name, err), nil
	}
	if err := k.verify(ctx, a); err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	return change.New(a.Name, true, data.NewMap(a.Name, update), "The "+k.name+" "+a.Name+" has been updated"), nil
}

// verify reads the role again after a change.
func (k kind) verify(ctx context.Context, a role) error {
	now, err := k.role(ctx, a)
	if err != nil || now == nil {
		return err
	}
	left, err := k.differing(ctx, a, now, false)
	if err == nil && left.Len() > 0 {
		return fmt.Errorf("After the change this is still not as wanted: %s", data.Repr(left)) //nolint:staticcheck // operators see it
	}
	return err
}

func failure(name, comment string, err error) *data.Map {
	if err != nil {
		comment += ": " + err.Error()
	}
	return change.Failed(name, comment)
}

// role returns the role as it is, nil where there is none.
func (k kind) role(ctx context.Context, a role) (*data.Map, error) {
	v, err := k.call(ctx, "role_get", a.server, data.NewMap("return_password", !data.Truth(a.RefreshPassword)), a.Name)
	now, _ := v.(*data.Map)
	return now, err
}

// arguments returns those of the function that makes or changes the role.
func (a role) arguments(password any) *data.Map {
	kwargs := data.NewMap("createdb", a.Createdb, "createroles", a.Createroles, "encrypted", a.Encrypted, "superuser", a.Superuser, "login", a.Login,
		"inherit", a.Inherit, "replication", a.Replication, "rolepassword", password, "groups", a.Groups)
	if a.ValidUntil != nil {
		kwargs.Set("valid_until", a.ValidUntil)
	}
	return kwargs
}

func (k kind) create(ctx context.Context, a role) (any, error) {
	if change.Test(ctx) {
		return change.Would(a.Name, nil, k.title+" "+a.Name+" is set to be created"), nil
	}
	password := a.Password
	if password == nil {
		password = a.DefaultPassword
	}
	if ok, err := k.call(ctx, k.name+"_create", a.server, a.arguments(password), a.Name); err != nil || !data.Truth(ok) {
		return failure(a.Name, "Failed to create "+k.name+" "+a.Name, err), nil
	}
	return change.New(a.Name, true, data.NewMap(a.Name, "Present"), "The "+k.name+" "+a.Name+" has been created"), nil
}

// way returns how the password is to be stored.
func (a role) way() string {
	switch a.Encrypted {
	case nil, true:
		return pgverifier.MD5
	case false:
		return pgverifier.Plain
	}
	return data.Str(a.Encrypted)
}

// differing returns what of a role is not as wanted.
func (k kind) differing(ctx context.Context, a role, now *data.Map, refresh bool) (*data.Map, error) {
	update := data.NewMap()
	for _, o := range []struct {
		name, told string
		wanted     any
	}{
		{"createdb", "can create databases", a.Createdb}, {"inherit", "inherits privileges", a.Inherit}, {"login", "can login", a.Login},
		{"createroles", "can create roles", a.Createroles}, {"replication", "replication", a.Replication}, {"superuser", "superuser", a.Superuser},
	} {
		if o.wanted != nil && !data.Equal(now.Value(o.told), o.wanted) {
			update.Set(o.name, o.wanted)
		}
	}
	if a.Password != nil && (refresh || now.Has("password") && !pgverifier.Same(a.Name, data.Str(a.Password), now.Text("password"), a.way())) {
		update.Set("password", true)
	}
	if a.ValidUntil != nil {
		until, err := k.expiry(ctx, a)
		if err != nil {
			return nil, err
		}
		if !data.Equal(until, now.Value("expiry time")) {
			update.Set("valid_until", a.ValidUntil)
		}
	}
	if missing := a.missing(now); len(missing) > 0 {
		update.Set("groups", missing)
	}
	return update, nil
}

// expiry returns when the password is to expire, as the server writes times; None for never.
func (k kind) expiry(ctx context.Context, a role) (any, error) {
	text := strings.ReplaceAll(data.Str(a.ValidUntil), "'", "''")
	v, err := k.call(ctx, "psql_query", a.server, nil, "SELECT '"+text+"'::timestamp(0) AS dt")
	rows, _ := v.([]any)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	row, _ := rows[0].(*data.Map)
	if until := row.Text("dt"); len(until) == len("2006-01-02 15:04:05") {
		return until, nil
	}
	return nil, nil
}

// missing returns the groups that the role is to be in and is not.
func (a role) missing(now *data.Map) []any {
	wanted, ok := a.Groups.([]any)
	if text, isText := a.Groups.(string); isText && text != "" {
		for name := range strings.SplitSeq(text, ",") {
			wanted = append(wanted, name)
		}
		ok = true
	}
	if !ok {
		return nil
	}
	has, _ := now.Value("groups").([]any)
	var list []any
	for _, name := range wanted {
		if !slices.ContainsFunc(has, func(g any) bool { return data.Equal(g, name) }) {
			list = append(list, name)
		}
	}
	return list
}

type absentRoleArgs struct {
	Name string
	server
}

func (k kind) absent(ctx context.Context, a absentRoleArgs) (any, error) {
	there, err := k.call(ctx, "user_exists", a.server, nil, a.Name)
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	if !data.Truth(there) {
		return change.Done(a.Name, k.title+" "+a.Name+" is not present, so it cannot be removed"), nil
	}
	if change.Test(ctx) {
		return change.Would(a.Name, nil, k.title+" "+a.Name+" is set to be removed"), nil
	}
	gone, err := k.call(ctx, k.name+"_remove", a.server, nil, a.Name)
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	if !data.Truth(gone) {
		return change.Failed(a.Name, k.title+" "+a.Name+" failed to be removed"), nil
	}
	return change.New(a.Name, true, data.NewMap(a.Name, "Absent"), k.title+" "+a.Name+" has been removed"), nil
}
