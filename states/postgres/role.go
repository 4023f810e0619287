package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pgverifier"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// A kind is users or groups. The strings are Salt's terms at the start of a sentence and within.
type kind struct {
	*module
	title, name string
}

// A role is the desired state of a role. The fields are the parameters of postgres_user.present.
// Those for users only are nil for groups.
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

func (k kind) present(ctx context.Context, a role) (change.Result, error) {
	now, err := k.role(ctx, a)
	if err == nil && now == nil {
		return k.create(ctx, a)
	}
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			if err != nil {
				return nil, err
			}
			return k.differing(ctx, a, now, data.Truth(a.RefreshPassword))
		},
		Wants: func(update *data.Map) *data.Map {
			return change.When(update.Len() > 0, data.NewMap(a.Name, update))
		},
		Apply: func(ctx context.Context, update *data.Map) error { return k.update(ctx, a, update) },
		Texts: change.Texts{
			Same:  k.title + " " + a.Name + " is already present",
			Would: k.title + " " + a.Name + " is set to be updated",
			Done:  "The " + k.name + " " + a.Name + " has been updated",
		},
		Trust: true, // update verifies the result, except for a password that is set in each run
	}.Ensure(ctx)
}

// update changes the role and reads it again.
func (k kind) update(ctx context.Context, a role, update *data.Map) error {
	password := a.Password
	if !update.Has("password") {
		password = nil
	}
	ok, err := k.call(ctx, k.name+"_update", a.server, a.arguments(password), a.Name)
	if err != nil || !data.Truth(ok) {
		return failure("Failed to update "+k.name+" "+a.Name, err)
	}
	return k.verify(ctx, a)
}

// verify reads the role again after a change.
func (k kind) verify(ctx context.Context, a role) error {
	now, err := k.role(ctx, a)
	if err != nil || now == nil {
		return err
	}
	left, err := k.differing(ctx, a, now, false)
	if err == nil && left.Len() > 0 {
		return change.Reason("Still different from the desired state after the change: " +
			data.Repr(left))
	}
	return err
}

func failure(text string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return change.Reason(text)
}

// role reads the role. It returns nil if it does not exist.
func (k kind) role(ctx context.Context, a role) (*data.Map, error) {
	v, err := k.call(ctx, "role_get", a.server,
		data.NewMap("return_password", !data.Truth(a.RefreshPassword)), a.Name)
	if err != nil {
		return nil, err
	}
	return calls.FoundIn[*data.Map]("postgres.role_get", v)
}

// arguments returns the arguments of the function that creates or changes the role.
func (a role) arguments(password any) *data.Map {
	kwargs := data.NewMap("createdb", a.Createdb, "createroles", a.Createroles,
		"encrypted", a.Encrypted, "superuser", a.Superuser, "login", a.Login,
		"inherit", a.Inherit, "replication", a.Replication, "rolepassword", password,
		"groups", a.Groups)
	if a.ValidUntil != nil {
		kwargs.Set("valid_until", a.ValidUntil)
	}
	return kwargs
}

func (k kind) create(ctx context.Context, a role) (change.Result, error) {
	password := a.Password
	if password == nil {
		password = a.DefaultPassword
	}
	failed := "Failed to create " + k.name + " " + a.Name
	return desired{
		name: a.Name,
		is:   func(context.Context) (any, error) { return false, nil },
		make: func(ctx context.Context) (any, error) {
			ok, err := k.call(ctx, k.name+"_create", a.server, a.arguments(password), a.Name)
			if err != nil {
				err = failure(failed, err)
			}
			return ok, err
		},
		word: "Present",
		texts: change.Texts{
			Would:  k.title + " " + a.Name + " is set to be created",
			Done:   "The " + k.name + " " + a.Name + " has been created",
			Failed: failed,
		},
		trust: true, // it has already been checked that the role does not exist
	}.ensure(ctx)
}

// passwordStorage returns how to store the password.
func (a role) passwordStorage() string {
	switch a.Encrypted {
	case nil, true:
		return pgverifier.MD5
	case false:
		return pgverifier.Plain
	}
	return data.Str(a.Encrypted)
}

// differing returns the differences of a role.
func (k kind) differing(
	ctx context.Context, a role, now *data.Map, refresh bool,
) (*data.Map, error) {
	update := data.NewMap()
	for _, o := range []struct {
		name, property string
		wanted         any
	}{
		{"createdb", "can create databases", a.Createdb}, {"inherit",
			"inherits privileges", a.Inherit}, {"login", "can login", a.Login},
		{"createroles", "can create roles", a.Createroles}, {"replication",
			"replication", a.Replication}, {"superuser", "superuser", a.Superuser},
	} {
		if o.wanted != nil && !data.Equal(now.Value(o.property), o.wanted) {
			update.Set(o.name, o.wanted)
		}
	}
	if a.Password != nil && (refresh || now.Has("password") &&
		!pgverifier.Same(a.Name, data.Str(a.Password), now.Text("password"), a.passwordStorage())) {
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

// expiry returns when the password is to expire, in the server's time format, or None for never.
func (k kind) expiry(ctx context.Context, a role) (any, error) {
	text := strings.ReplaceAll(data.Str(a.ValidUntil), "'", "''")
	v, err := k.call(ctx, "psql_query", a.server, nil, "SELECT '"+text+"'::timestamp(0) AS dt")
	if err != nil {
		return nil, err
	}
	rows, err := calls.FoundIn[[]any]("postgres.psql_query", v)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	row, err := calls.FoundIn[*data.Map]("postgres.psql_query", rows[0])
	if err != nil {
		return nil, err
	}
	if until := row.Text("dt"); len(until) == len("2006-01-02 15:04:05") {
		return until, nil
	}
	return nil, nil
}

// missing returns the desired groups that the role is not in.
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

func (k kind) absent(ctx context.Context, a absentRoleArgs) (change.Result, error) {
	return desired{
		name: a.Name,
		is: func(ctx context.Context) (any, error) {
			return not(k.call(ctx, "user_exists", a.server, nil, a.Name))
		},
		make: func(ctx context.Context) (any, error) {
			return k.call(ctx, k.name+"_remove", a.server, nil, a.Name)
		},
		word:  "Absent",
		texts: removal(k.title, a.Name),
	}.ensure(ctx)
}
