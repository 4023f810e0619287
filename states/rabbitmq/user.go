package rabbitmq

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// User returns the state rabbitmq_user.
func User() loader.Plugin {
	return state("rabbitmq_user", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentUser),
			loader.F("present", m.presentUser).Secret("password"),
		}
	})
}

type userArgs struct {
	Name     string
	Password any   `default:"None"`
	Force    bool  `default:"False"`
	Tags     any   `default:"None"`
	Perms    []any `default:"()"`
	Runas    any   `default:"None"`
}

// account is what RabbitMQ knows of a user.
type account struct {
	exists, right bool // right: the password is the wanted one, if one is wanted
	tags          []string
	rights        *data.Map // by virtual host
}

// presentUser keeps a user with a password, tags and rights.
//
// password
//
//	Without it nobody can log in as a new user, and a user keeps the password that they have.
//
// force
//
//	Set the password in every run, or remove it if there is none.
//
// tags
//
//	A list of tags. The user gets no others.
//
// perms
//
//	A list of virtual hosts, each with regular expressions for the names that the user may
//	configure, write and read.
//
// runas
//
//	The user to run rabbitmqctl as.
//
//	rabbit_user:
//	  rabbitmq_user.present:
//	    - password: secret
//	    - tags: [monitoring]
//	    - perms:
//	      - '/': ['.*', '.*', '.*']
func (m *module) presentUser(ctx context.Context, a userArgs) (change.Result, error) {
	perms, ok := a.perms()
	if !ok {
		return change.Refuse(a.Name, "perms must be a list of virtual hosts, each with a list of three expressions")
	}
	forced := a.Force
	return change.Thing[account]{
		Name: a.Name,
		Look: func(ctx context.Context) (account, error) { return m.account(ctx, a) },
		Wants: func(now account) *data.Map {
			if !now.exists {
				return data.NewMap("user", change.OldNew("", a.Name))
			}
			return a.lacks(now, forced, perms)
		},
		Apply: func(ctx context.Context, now account) error {
			err := m.bring(ctx, a, now, forced, perms)
			forced = false
			return err
		},
		Changed: func(before, after account) *data.Map {
			changes := &data.Map{}
			if !before.exists && after.exists {
				changes.Set("user", change.OldNew("", a.Name))
				before.right = true
			}
			left := a.lacks(after, false, perms)
			for key, v := range a.lacks(before, a.Force && before.exists, perms).All() {
				if !left.Has(key) {
					changes.Set(key, v)
				}
			}
			return changes
		},
		Texts: change.Texts{
			Would:  "Configuration for '" + a.Name + "' will change.",
			Done:   "'" + a.Name + "' was configured.",
			Failed: "'" + a.Name + "' could not be configured.",
		},
		Say: func(o change.Outcome[account]) any {
			switch {
			case o.Stage == change.StageWould && !o.Before.exists:
				return "User '" + a.Name + "' is set to be created."
			case o.Stage == change.StageSame && len(a.Perms) == 0 && !data.Truth(a.Tags):
				return "User '" + a.Name + "' is already present."
			case o.Stage == change.StageSame:
				return "'" + a.Name + "' is already in the desired state."
			}
			return nil
		},
	}.Ensure(ctx)
}

// perms returns the wanted rights by virtual host. ok is false if they have another form.
func (a userArgs) perms() (perms *data.Map, ok bool) {
	perms = &data.Map{}
	for _, v := range a.Perms {
		hosts, ok := v.(*data.Map)
		if !ok {
			return nil, false
		}
		for vhost, v := range hosts.All() {
			list := data.TextsOf(v)
			if len(list) != 3 {
				return nil, false
			}
			perms.Set(vhost, data.NewMap("configure", list[0], "write", list[1], "read", list[2]))
		}
	}
	return perms, true
}

// wantedTags returns the wanted tags.
func (a userArgs) wantedTags() []string {
	if text, ok := a.Tags.(string); ok {
		return strings.Fields(text)
	}
	return data.TextsOf(a.Tags)
}

// lacks returns the changes that a user needs.
func (a userArgs) lacks(now account, forced bool, perms *data.Map) *data.Map {
	changes := &data.Map{}
	switch {
	case a.Password != nil && (forced || !now.right):
		changes.Set("password", change.OldNew("", "Set password."))
	case forced:
		changes.Set("password", change.OldNew("Removed password.", ""))
	}
	if a.Tags != nil && !slices.Equal(sorted(a.wantedTags()), sorted(now.tags)) {
		old := now.tags
		if len(old) == 0 {
			old = []string{""}
		}
		changes.Set("tags", change.OldNew(data.Values(old), data.Values(a.wantedTags())))
	}
	before, after := &data.Map{}, &data.Map{}
	for vhost, wanted := range perms.All() {
		had, ok := now.rights.Value(vhost).(*data.Map)
		if ok && data.Equal(had, wanted) {
			continue
		}
		before.Update(had)
		after.Set(vhost, wanted)
	}
	switch {
	case before.Len() > 0:
		changes.Set("perms", change.OldNew(before, after))
	case after.Len() > 0:
		changes.Set("perms", data.NewMap("new", after))
	}
	return changes
}

// sorted returns the different tags in order, without the empty one that stands for none.
func sorted(tags []string) []string {
	tags = slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return tag == "" })
	slices.Sort(tags)
	return slices.Compact(tags)
}

// account looks at a user.
func (m *module) account(ctx context.Context, a userArgs) (account, error) {
	users, err := ask[*data.Map](ctx, m, "list_users", a.Runas)
	if err != nil || !users.Has(a.Name) {
		return account{}, err
	}
	now := account{exists: true, right: true, tags: data.TextsOf(users.Value(a.Name))}
	if a.Password != nil {
		if now.right, err = ask[bool](ctx, m, "check_password", a.Runas, a.Name, a.Password); err != nil {
			return now, err
		}
	}
	now.rights, err = ask[*data.Map](ctx, m, "list_user_permissions", a.Runas, a.Name)
	return now, err
}

// bring creates or changes a user.
func (m *module) bring(ctx context.Context, a userArgs, now account, forced bool, perms *data.Map) error {
	if !now.exists {
		if err := m.do(ctx, "add_user", a.Runas, a.Name, a.Password); err != nil {
			return err
		}
		now.right, forced = true, false
	}
	needed := a.lacks(now, forced, perms)
	var err error
	switch {
	case needed.Has("password") && a.Password != nil:
		err = m.do(ctx, "change_password", a.Runas, a.Name, a.Password)
	case needed.Has("password"):
		err = m.do(ctx, "clear_password", a.Runas, a.Name)
	}
	if err == nil && needed.Has("tags") {
		err = m.do(ctx, "set_user_tags", a.Runas, a.Name, data.Values(a.wantedTags()))
	}
	if err != nil || !needed.Has("perms") {
		return err
	}
	for vhost, v := range perms.All() {
		rights := v.(*data.Map)
		if err := m.do(ctx, "set_permissions", a.Runas, vhost, a.Name, rights.Value("configure"),
			rights.Value("write"), rights.Value("read")); err != nil {
			return err
		}
	}
	return nil
}

type absentArgs struct {
	Name  string
	Runas any `default:"None"`
}

// absentUser keeps a user deleted. runas is the user to run rabbitmqctl as.
//
//	rabbit_user:
//	  rabbitmq_user.absent
func (m *module) absentUser(ctx context.Context, a absentArgs) (change.Result, error) {
	quoted := "The user '" + a.Name + "' "
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) { return ask[bool](ctx, m, "user_exists", a.Runas, a.Name) },
		Wants: func(there bool) *data.Map {
			return change.When(there, data.NewMap("name", change.OldNew(a.Name, "")))
		},
		Apply: func(ctx context.Context, _ bool) error { return m.do(ctx, "delete_user", a.Runas, a.Name) },
		Texts: change.Texts{
			Same:   quoted + "is not present.",
			Would:  quoted + "will be removed.",
			Done:   quoted + "was removed.",
			Failed: quoted + "still exists.",
		},
	}.Ensure(ctx)
}
