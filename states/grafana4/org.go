package grafana4

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Org returns the state grafana4_org.
func Org() loader.Plugin {
	return state("grafana4_org", "get_org", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentOrg).Secret("profile"),
			loader.F("present", m.presentOrg).Secret("profile"),
		}
	})
}

type orgArgs struct {
	Name            string
	Users           *data.Map `default:"None"`
	Theme           any       `default:"None"`
	HomeDashboardID any       `name:"home_dashboard_id" default:"None"`
	Timezone        any       `default:"None"`
	Address1        any       `default:"None"`
	Address2        any       `default:"None"`
	City            any       `default:"None"`
	ZipCode         any       `default:"None"`
	AddressState    any       `default:"None"`
	Country         any       `default:"None"`
	Profile         any       `default:"'grafana'"`
}

// organization is what Grafana knows of an organization; all is nil if there is none.
type organization struct {
	org, address, prefs *data.Map
	users               *data.Map // by login, each with userId and role; nil if they do not count
}

func (m *module) org(ctx context.Context, name string, profile any) (*data.Map, error) {
	org, err := ask[*data.Map](ctx, m, "get_org", profile, nil, name)
	if missing(err) {
		return nil, nil
	}
	return org, err
}

func (m *module) organization(ctx context.Context, a orgArgs, profile any) (organization, error) {
	var o organization
	var err error
	if o.org, err = m.org(ctx, a.Name, profile); err != nil || o.org == nil {
		return o, err
	}
	if o.address, _ = o.org.Value("address").(*data.Map); o.address == nil {
		o.address = &data.Map{}
	}
	if o.prefs, err = ask[*data.Map](ctx, m, "get_org_prefs", profile, nil, a.Name); err != nil ||
		a.Users.Len() == 0 {
		return o, err
	}
	list, err := ask[[]any](ctx, m, "get_org_users", profile, nil, a.Name)
	o.users = &data.Map{}
	for _, v := range list {
		user, _ := v.(*data.Map)
		o.users.Set(user.Value("login"), data.NewMap("userId", user.Value("userId"), "role", user.Value("role")))
	}
	return o, err
}

func (a orgArgs) address(now organization) *data.Map {
	return filled(now.address, "address1", a.Address1, "address2", a.Address2, "city", a.City, "zipCode",
		a.ZipCode,
		"state", a.AddressState, "country", a.Country)
}

func (a orgArgs) prefs(now organization) *data.Map {
	return filled(now.prefs, "theme", a.Theme, "homeDashboardId", a.HomeDashboardID, "timezone", a.Timezone)
}

// step is what a user of an organization needs.
type step struct {
	login, fun, verb string
	id, role         any
}

// steps returns what the users need.
func (a orgArgs) steps(now organization) []step {
	var all []step
	for k, role := range a.Users.All() {
		login := data.Str(k)
		user, there := now.users.Value(login).(*data.Map)
		id := user.Value("userId")
		switch {
		case there && role == false:
			all = append(all, step{login, "delete_org_user", " will be deleted", id, role})
		case there && !data.Equal(role, user.Value("role")):
			all = append(all, step{login, "update_org_user", " role will be updated", id, role})
		case !there && data.Truth(role):
			all = append(all, step{login, "create_org_user", " will be created", nil, role})
		}
	}
	return all
}

// presentOrg keeps an organization of Grafana.
//
// users
//
//	A dictionary of logins and roles (Admin, Editor, Viewer); the role False takes a user out.
//
// theme, home_dashboard_id, timezone
//
//	The preferences.
//
// address1, address2, city, zip_code, address_state, country
//
//	The address.
//
// profile
//
//	As in grafana4_user.present.
//
//	myorg:
//	  grafana4_org.present:
//	    - users:
//	        admin: Admin
func (m *module) presentOrg(ctx context.Context, a orgArgs) (change.Result, error) {
	profile, err := m.profile(ctx, a.Profile)
	if err != nil {
		return change.Result{}, err
	}
	org := "Org " + a.Name
	return change.Thing[organization]{
		Name: a.Name,
		Look: func(ctx context.Context) (organization, error) { return m.organization(ctx, a, profile) },
		Wants: func(now organization) *data.Map {
			wanted := &data.Map{}
			switch steps := a.steps(now); {
			case now.org == nil:
				wanted.Set("need", org+" will be created")
			case !same(now.address, a.address(now)):
				wanted.Set("need", org+" address will be updated")
			case !same(now.prefs, a.prefs(now)):
				wanted.Set("need", org+" prefs will be updated")
			case len(steps) > 0:
				wanted.Set("need", org+" user "+steps[0].login+steps[0].verb)
			}
			return wanted
		},
		Apply: func(ctx context.Context, now organization) error { return m.bringOrg(ctx, a, profile, now) },
		Changed: func(before, after organization) *data.Map {
			if before.org == nil {
				changes := after.org.Clone()
				changes.Update(after.users)
				return changes
			}
			changes := change.DeepDiff(before.address, after.address)
			merge(changes, change.DeepDiff(before.prefs, after.prefs))
			merge(changes, change.DeepDiff(before.users, after.users))
			return changes
		},
		Texts: change.Texts{Same: org + " already up-to-date", Done: org + " updated"},
		Say: func(o change.Outcome[organization]) any {
			switch {
			case o.Stage == change.StageWould:
				return o.Changes.Value("need")
			case o.Stage == change.StageDone && o.Before.org == nil:
				return "New org " + a.Name + " added"
			}
			return nil
		},
		Silent: true,
	}.Ensure(ctx)
}

func (m *module) bringOrg(ctx context.Context, a orgArgs, profile any, now organization) error {
	if now.org == nil {
		if err := m.do(ctx, "create_org", profile, data.NewMap("name", a.Name)); err != nil {
			return err
		}
		var err error
		if now, err = m.organization(ctx, a, profile); err != nil {
			return err
		}
		if now.org == nil {
			return change.Reason("Grafana does not show the new org " + a.Name)
		}
	}
	if address := a.address(now); !same(now.address, address) {
		if err := m.do(ctx, "update_org_address", profile, address, a.Name); err != nil {
			return err
		}
	}
	if prefs := a.prefs(now); !same(now.prefs, prefs) {
		if err := m.do(ctx, "update_org_prefs", profile, prefs, a.Name); err != nil {
			return err
		}
	}
	for _, s := range a.steps(now) {
		fields := data.NewMap("loginOrEmail", s.login, "role", s.role)
		var err error
		switch s.fun {
		case "delete_org_user":
			err = m.do(ctx, s.fun, profile, data.NewMap("orgname", a.Name), s.id)
		case "update_org_user":
			fields.Set("orgname", a.Name)
			err = m.do(ctx, s.fun, profile, fields, s.id)
		default:
			err = m.do(ctx, s.fun, profile, fields, a.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// absentOrg keeps an organization of Grafana deleted.
//
//	myorg:
//	  grafana4_org.absent
func (m *module) absentOrg(ctx context.Context, a absentArgs) (change.Result, error) {
	profile, err := m.profile(ctx, a.Profile)
	if err != nil {
		return change.Result{}, err
	}
	org := "Org " + a.Name
	return change.Thing[*data.Map]{
		Name:  a.Name,
		Look:  func(ctx context.Context) (*data.Map, error) { return m.org(ctx, a.Name, profile) },
		Wants: func(now *data.Map) *data.Map { return change.When(now != nil, data.NewMap(a.Name, "Absent")) },
		Apply: func(ctx context.Context, now *data.Map) error {
			return m.do(ctx, "delete_org", profile, nil, now.Value("id"))
		},
		Texts: change.Texts{Same: org + " already absent", Would: org + " will be deleted",
			Done: org + " was deleted"},
		Silent: true,
	}.Ensure(ctx)
}
