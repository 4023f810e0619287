package grafana4

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// User returns the state grafana4_user.
func User() loader.Plugin {
	return state("grafana4_user", "get_user", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentUser).Secret("profile"),
			loader.F("present", m.presentUser).Secret("profile"),
		}
	})
}

type userArgs struct {
	Name     string
	Password any
	Email    any
	IsAdmin  any `default:"False"`
	Fullname any `default:"None"`
	Theme    any `default:"None"`
	Profile  any `default:"'grafana'"`
}

// account is a user: what the list of users and what Grafana knows besides; both are nil if there is none.
type account struct{ user, details *data.Map }

func (m *module) account(ctx context.Context, name string, profile any) (account, error) {
	var a account
	var err error
	if a.user, err = ask[*data.Map](ctx, m, "get_user", profile, nil, name); err != nil || a.user == nil {
		return a, err
	}
	a.details, err = ask[*data.Map](ctx, m, "get_user_data", profile, nil, a.user.Value("id"))
	return a, err
}

// wanted returns the fields that a user should have.
func (a userArgs) wanted(now account) *data.Map {
	return filled(now.details, "login", a.Name, "email", a.Email, "name", a.Fullname, "theme", a.Theme)
}

// presentUser keeps a user of Grafana.
//
// password
//
//	The password of a new user.
//
// email, fullname, theme
//
//	The address, the name and the theme (dark or light).
//
// is_admin
//
//	Whether the user is an administrator of the server. Default: False.
//
// profile
//
//	The name of an option, or a dictionary, with grafana_url, and grafana_token or grafana_user and
//	grafana_password. Default: grafana.
//
//	myuser:
//	  grafana4_user.present:
//	    - password: secret
//	    - email: user@example.com
func (m *module) presentUser(ctx context.Context, a userArgs) (change.Result, error) {
	profile, err := m.profile(ctx, a.Profile)
	if err != nil {
		return change.Result{}, err
	}
	user := "User " + a.Name
	return change.Thing[account]{
		Name: a.Name,
		Look: func(ctx context.Context) (account, error) { return m.account(ctx, a.Name, profile) },
		Wants: func(now account) *data.Map {
			wanted := &data.Map{}
			if now.user == nil {
				return data.NewMap("created", true)
			}
			if !same(now.details, a.wanted(now)) {
				wanted.Set("updated", true)
			}
			if !data.Equal(now.user.Value("isAdmin"), a.IsAdmin) {
				wanted.Set("isAdmin", a.IsAdmin)
			}
			return wanted
		},
		Apply: func(ctx context.Context, now account) error { return m.bringUser(ctx, a, profile, now) },
		Changed: func(before, after account) *data.Map {
			if before.user == nil {
				return after.user
			}
			changes := change.DeepDiff(before.details, after.details)
			merge(changes, change.DeepDiff(before.user, after.user))
			return changes
		},
		Texts: change.Texts{Same: user + " already up-to-date", Done: user + " updated"},
		Say: func(o change.Outcome[account]) any {
			switch {
			case o.Stage == change.StageWould && o.Changes.Has("created"):
				return user + " will be created"
			case o.Stage == change.StageWould && o.Changes.Has("updated"):
				return user + " will be updated"
			case o.Stage == change.StageWould:
				return user + " isAdmin status will be updated"
			case o.Stage == change.StageDone && o.Before.user == nil:
				return "New user " + a.Name + " added"
			}
			return nil
		},
		Silent: true,
	}.Ensure(ctx)
}

func (m *module) bringUser(ctx context.Context, a userArgs, profile any, now account) error {
	if now.user == nil {
		err := m.do(ctx, "create_user", profile, data.NewMap("login", a.Name, "password", a.Password, "email",
			a.Email,
			"name", a.Fullname))
		if err != nil {
			return err
		}
		if now, err = m.account(ctx, a.Name, profile); err != nil {
			return err
		}
		if now.user == nil {
			return change.Reason("Grafana does not show the new user " + a.Name)
		}
	}
	id := now.user.Value("id")
	if wanted := a.wanted(now); !same(now.details, wanted) {
		if err := m.do(ctx, "update_user", profile, wanted, id); err != nil {
			return err
		}
	}
	if data.Equal(now.user.Value("isAdmin"), a.IsAdmin) {
		return nil
	}
	return m.do(ctx, "update_user_permissions", profile, data.NewMap("isGrafanaAdmin", a.IsAdmin), id)
}

type absentArgs struct {
	Name    string
	Profile any `default:"'grafana'"`
}

// absentUser keeps a user of Grafana deleted, together with the organization that bears the user's address.
//
//	myuser:
//	  grafana4_user.absent
func (m *module) absentUser(ctx context.Context, a absentArgs) (change.Result, error) {
	profile, err := m.profile(ctx, a.Profile)
	if err != nil {
		return change.Result{}, err
	}
	user := "User " + a.Name
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			return ask[*data.Map](ctx, m, "get_user", profile, nil, a.Name)
		},
		Wants: func(now *data.Map) *data.Map { return change.When(now != nil, data.NewMap(a.Name, "Absent")) },
		Apply: func(ctx context.Context, now *data.Map) error { return m.removeUser(ctx, profile, now) },
		Texts: change.Texts{Same: user + " already absent", Would: user + " will be deleted",
			Done: user + " was deleted"},
		Silent: true,
	}.Ensure(ctx)
}

func (m *module) removeUser(ctx context.Context, profile any, user *data.Map) error {
	id := user.Value("id")
	orgs, err := ask[[]any](ctx, m, "get_user_orgs", profile, nil, id)
	if err != nil {
		return err
	}
	if err := m.do(ctx, "delete_user", profile, nil, id); err != nil {
		return err
	}
	for _, v := range orgs {
		org, _ := v.(*data.Map)
		if data.Equal(org.Value("name"), user.Value("email")) {
			err = m.do(ctx, "delete_org", profile, nil, org.Value("orgId"))
		} else {
			err = m.do(ctx, "delete_user_org", profile, nil, id, org.Value("orgId"))
		}
		if err != nil && !missing(err) {
			return err
		}
	}
	return nil
}
