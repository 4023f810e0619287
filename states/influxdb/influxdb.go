// Package influxdb has Salt's states influxdb_database, influxdb_user, influxdb_retention_policy and
// influxdb_continuous_query (salt/states/influxdb_*.py). They use the module influxdb.
//
// Differences from Salt: a new user without grants is a change too, and durations in hours and smaller
// units can be compared, on which Salt's state ends with an exception.
package influxdb

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Database returns the state influxdb_database.
func Database() loader.Plugin {
	return state("influxdb_database", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentDatabase).Secret("influxdb_password"),
			loader.F("present", m.presentDatabase).Secret("influxdb_password"),
		}
	})
}

// User returns the state influxdb_user.
func User() loader.Plugin {
	return state("influxdb_user", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentUser).Secret("influxdb_password"),
			loader.F("present", m.presentUser).Secret("influxdb_password", "passwd"),
		}
	})
}

// RetentionPolicy returns the state influxdb_retention_policy.
func RetentionPolicy() loader.Plugin {
	return state("influxdb_retention_policy", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentPolicy).Secret("influxdb_password"),
			loader.F("present", m.presentPolicy).Secret("influxdb_password"),
		}
	})
}

// ContinuousQuery returns the state influxdb_continuous_query.
func ContinuousQuery() loader.Plugin {
	return state("influxdb_continuous_query", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentQuery).Secret("influxdb_password"),
			loader.F("present", m.presentQuery).Secret("influxdb_password"),
		}
	})
}

type module struct{ env *loader.Env }

func state(name string, funcs func(*module) []loader.Func) loader.Plugin {
	return loader.Plugin{Name: name, New: func(env *loader.Env) (*loader.Module, error) {
		if !env.Functions.Has("influxdb.db_exists") {
			return nil, errors.New("influxdb module could not be loaded")
		}
		return &loader.Module{Funcs: funcs(&module{env})}, nil
	}}
}

// do calls a function that returns whether it changed something.
func (m *module) do(ctx context.Context, failed, fun string, kwargs *data.Map, args ...any) error {
	done, err := change.Ask[bool](ctx, m.env, "influxdb."+fun, args, kwargs)
	if err == nil && !done {
		err = change.Reason(failed)
	}
	return err
}

// exists keeps a thing that is there or not. args are those of the functions, of which look tells whether
// it is there.
func (m *module) exists(
	ctx context.Context, name string, wanted bool, kwargs *data.Map, look, fun string, looked, args []any,
	texts change.Texts,
) (change.Result, error) {
	word := "Absent"
	if wanted {
		word = "Present"
	}
	return change.Thing[bool]{
		Name: name,
		Look: func(ctx context.Context) (bool, error) {
			return change.Ask[bool](ctx, m.env, "influxdb."+look, looked, kwargs)
		},
		Wants: func(is bool) *data.Map { return change.When(is != wanted, data.NewMap(name, word)) },
		Apply: func(ctx context.Context, _ bool) error { return m.do(ctx, texts.Failed, fun, kwargs, args...) },
		Texts: texts, Silent: true,
	}.Ensure(ctx)
}

type nameArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"client_args"`
}

// presentDatabase keeps a database. The arguments of the connection are those of the module influxdb, for
// this and the other states.
//
//	mydb:
//	  influxdb_database.present
func (m *module) presentDatabase(ctx context.Context, a nameArgs) (change.Result, error) {
	args := []any{a.Name}
	return m.exists(ctx, a.Name, true, a.Kwargs, "db_exists", "create_db", args, args, change.Texts{
		Same:  "Database " + a.Name + " is already present",
		Would: "Database " + a.Name + " is absent and will be created",
		Done:  "Database " + a.Name + " has been created", Failed: "Failed to create database " + a.Name})
}

// absentDatabase keeps a database dropped.
//
//	mydb:
//	  influxdb_database.absent
func (m *module) absentDatabase(ctx context.Context, a nameArgs) (change.Result, error) {
	args := []any{a.Name}
	return m.exists(ctx, a.Name, false, a.Kwargs, "db_exists", "drop_db", args, args, change.Texts{
		Same:  "Database " + a.Name + " is not present",
		Would: "Database " + a.Name + " is present and needs to be removed",
		Done:  "Database " + a.Name + " has been removed", Failed: "Failed to remove database " + a.Name})
}

// removed returns the comments on a thing in a database that is to be absent.
func removed(title string) change.Texts {
	return change.Texts{Same: title + " is not present", Would: title + " is present and needs to be removed",
		Done: title + " has been removed", Failed: "Failed to remove " + title}
}

type queryArgs struct {
	Name           string
	Database       string
	Query          any
	ResampleTime   any       `default:"None"`
	CoveragePeriod any       `default:"None"`
	Kwargs         *data.Map `kwargs:"client_args"`
}

// presentQuery keeps a continuous query of a database. One that is there is not changed.
//
// query
//
//	The query.
//
// resample_time, coverage_period
//
//	Durations, such as 10m.
//
//	cq_month:
//	  influxdb_continuous_query.present:
//	    - database: mydb
//	    - query: SELECT mean(*) INTO mydb.a_month.:MEASUREMENT FROM mydb.a_week./.*/ GROUP BY time(5m), *
func (m *module) presentQuery(ctx context.Context, a queryArgs) (change.Result, error) {
	return m.exists(ctx, a.Name, true, a.Kwargs, "continuous_query_exists", "create_continuous_query",
		[]any{a.Database, a.Name}, []any{a.Database, a.Name, a.Query, a.ResampleTime, a.CoveragePeriod},
		change.Texts{
			Same:   "continuous query " + a.Name + " is already present",
			Would:  " " + a.Name + " is absent and will be created",
			Done:   "continuous query " + a.Name + " has been created",
			Failed: "Failed to create continuous query " + a.Name})
}

type inArgs struct {
	Name     string
	Database string
	Kwargs   *data.Map `kwargs:"client_args"`
}

// absentQuery keeps a continuous query of a database dropped.
//
//	cq_month:
//	  influxdb_continuous_query.absent:
//	    - database: mydb
func (m *module) absentQuery(ctx context.Context, a inArgs) (change.Result, error) {
	args := []any{a.Database, a.Name}
	return m.exists(ctx, a.Name, false, a.Kwargs, "continuous_query_exists", "drop_continuous_query", args, args,
		removed("continuous query "+a.Name))
}

// absentPolicy keeps a retention policy of a database dropped.
//
//	default:
//	  influxdb_retention_policy.absent:
//	    - database: metrics
func (m *module) absentPolicy(ctx context.Context, a inArgs) (change.Result, error) {
	args := []any{a.Database, a.Name}
	return m.exists(ctx, a.Name, false, a.Kwargs, "retention_policy_exists", "drop_retention_policy", args, args,
		removed("retention policy "+a.Name))
}

type policyArgs struct {
	Name        string
	Database    string
	Duration    string    `default:"'7d'"`
	Replication any       `default:"1"`
	Default     any       `default:"False"`
	Kwargs      *data.Map `kwargs:"client_args"`
}

// units are the units of durations in InfluxDB.
var units = map[string]time.Duration{"ns": 1, "u": time.Microsecond, "µ": time.Microsecond,
	"ms": time.Millisecond,
	"s":  time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}

var part = regexp.MustCompile(`^([0-9]+)(ns|ms|u|µ|s|m|h|d|w)`)

// span returns a duration of InfluxDB, which is 0 for ever.
func span(text string) (time.Duration, bool) {
	if strings.EqualFold(text, "inf") || text == "0" {
		return 0, true
	}
	total, left := time.Duration(0), text
	for left != "" {
		found := part.FindStringSubmatch(left)
		if found == nil || len(found[1]) > 9 {
			return 0, false
		}
		n, err := loader.Int(found[1])
		if err != nil {
			return 0, false
		}
		total, left = total+time.Duration(n)*units[found[2]], left[len(found[0]):]
	}
	return total, text != ""
}

// presentPolicy keeps a retention policy of a database.
//
// duration
//
//	How long data are kept, such as 4w or INF. Default: 7d.
//
// replication
//
//	The number of copies. Default: 1.
//
// default
//
//	Whether it is the policy for new data. Default: False.
//
//	default:
//	  influxdb_retention_policy.present:
//	    - database: metrics
//	    - duration: 52w
func (m *module) presentPolicy(ctx context.Context, a policyArgs) (change.Result, error) {
	title := "retention policy " + a.Name
	wanted, ok := span(a.Duration)
	if !ok {
		return change.Refuse(a.Name, "'"+a.Duration+"' is not a duration")
	}
	r, err := change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			return change.Ask[*data.Map](ctx, m.env, "influxdb.get_retention_policy", []any{a.Database, a.Name},
				a.Kwargs)
		},
		Wants: func(now *data.Map) *data.Map {
			if now.Len() == 0 {
				return data.NewMap(a.Name, "Present")
			}
			changes := &data.Map{}
			if had, ok := span(now.Text("duration")); !ok || had != wanted {
				changes.Set("duration", "Retention changed from "+now.Text("duration")+" to "+a.Duration+".")
			}
			if v := now.Value("replicaN"); !data.Equal(v, a.Replication) {
				changes.Set("replication",
					"Replication changed from "+data.Str(v)+" to "+data.Str(a.Replication)+".")
			}
			if v := now.Value("default"); !data.Equal(v, a.Default) {
				changes.Set("default", "Default changed from "+data.Str(v)+" to "+data.Str(a.Default)+".")
			}
			return changes
		},
		Apply: func(ctx context.Context, now *data.Map) error {
			args := []any{a.Database, a.Name, a.Duration, a.Replication, a.Default}
			if now.Len() == 0 {
				return m.do(ctx, "Failed to create "+title, "create_retention_policy", a.Kwargs, args...)
			}
			return m.do(ctx, "Failed to update "+title, "alter_retention_policy", a.Kwargs, args...)
		},
		Texts: change.Texts{Same: title + " is already present"},
		Say: func(o change.Outcome[*data.Map]) any {
			switch created := o.Before.Len() == 0; {
			case o.Stage == change.StageWould && created:
				return " " + a.Name + " is absent and will be created"
			case o.Stage == change.StageWould:
				return " " + a.Name + " is present and set to be changed"
			case o.Stage == change.StageDone && created:
				return title + " has been created"
			case o.Stage == change.StageDone:
				return title + " has been changed"
			}
			return nil
		},
	}.Ensure(ctx)
	if r.Verdict == change.Pending && r.Changes.Has(a.Name) {
		r.Changes = nil
	}
	return r, err
}

type userArgs struct {
	Name   string
	Passwd any
	Admin  any       `default:"False"`
	Grants *data.Map `default:"None"`
	Kwargs *data.Map `kwargs:"client_args"`
}

// account is a user and its privileges; user is nil if there is none.
type account struct{ user, privileges *data.Map }

// presentUser keeps a user.
//
// passwd
//
//	The password of a new user.
//
// admin
//
//	Whether the user is an administrator. Default: False.
//
// grants
//
//	A dictionary of databases and privileges: read, write or all. Other privileges stay.
//
//	example user:
//	  influxdb_user.present:
//	    - passwd: somepassword
//	    - grants:
//	        foo_db: read
func (m *module) presentUser(ctx context.Context, a userArgs) (change.Result, error) {
	title := "User " + a.Name
	grant := func(database any) string {
		return "Grant on database " + data.Str(database) + " to user " + a.Name
	}
	return change.Thing[account]{
		Name: a.Name,
		Look: func(ctx context.Context) (account, error) {
			user, err := change.Ask[*data.Map](ctx, m.env, "influxdb.user_info", []any{a.Name}, a.Kwargs)
			if err != nil || user == nil || a.Grants.Len() == 0 {
				return account{user: user}, err
			}
			all, err := change.Ask[*data.Map](ctx, m.env, "influxdb.list_privileges", []any{a.Name}, a.Kwargs)
			return account{user, all}, err
		},
		Wants: func(now account) *data.Map {
			changes := &data.Map{}
			if now.user != nil && !data.Equal(now.user.Value("admin"), a.Admin) {
				changes.Set("Admin privileges", a.Admin)
			}
			for database, v := range a.Grants.All() {
				if wanted := strings.ToLower(data.Str(v)); now.privileges.Text(database) != wanted {
					changes.Set(grant(database), wanted)
				}
			}
			if now.user == nil {
				changes.Set(a.Name, "User created")
			}
			return changes
		},
		Apply: func(ctx context.Context, now account) error { return m.bring(ctx, a, now) },
		Texts: change.Texts{Same: title + " is present and up to date"},
		Say: func(o change.Outcome[account]) any {
			switch created := o.Before.user == nil; {
			case o.Stage == change.StageWould && created:
				return title + " will be created"
			case o.Stage == change.StageWould:
				text := title + " will be updated with the following changes:"
				for k, v := range o.Changes.All() {
					text += "\n" + data.Str(k) + " => " + data.Str(v)
				}
				return text
			case o.Stage == change.StageDone && created:
				return "Created user " + a.Name
			case o.Stage == change.StageDone:
				return "Updated user " + a.Name
			}
			return nil
		},
		Silent: true,
	}.Ensure(ctx)
}

func (m *module) bring(ctx context.Context, a userArgs, now account) error {
	switch {
	case now.user == nil:
		kwargs := a.Kwargs.Clone()
		kwargs.Set("admin", a.Admin)
		if err := m.do(ctx, "Failed to create user "+a.Name, "create_user", kwargs, a.Name, a.Passwd); err != nil {
			return err
		}
	case !data.Equal(now.user.Value("admin"), a.Admin):
		fun := "revoke_admin_privileges"
		if data.Truth(a.Admin) {
			fun = "grant_admin_privileges"
		}
		if err := m.do(ctx, "Failed to set admin privilege to user "+a.Name, fun, a.Kwargs, a.Name); err != nil {
			return err
		}
	}
	for k, v := range a.Grants.All() {
		wanted, had := strings.ToLower(data.Str(v)), now.privileges.Text(k)
		if had == wanted {
			continue
		}
		if now.privileges.Has(k) {
			if err := m.do(ctx, "", "revoke_privilege", a.Kwargs, k, "all", a.Name); err != nil {
				return err
			}
		}
		if err := m.do(ctx, "", "grant_privilege", a.Kwargs, k, wanted, a.Name); err != nil {
			return err
		}
	}
	return nil
}

// absentUser keeps a user removed.
//
//	example user:
//	  influxdb_user.absent
func (m *module) absentUser(ctx context.Context, a nameArgs) (change.Result, error) {
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			return change.Ask[bool](ctx, m.env, "influxdb.user_exists", []any{a.Name}, a.Kwargs)
		},
		Wants: func(is bool) *data.Map { return change.When(is, data.NewMap(a.Name, "removed")) },
		Apply: func(ctx context.Context, _ bool) error {
			return m.do(ctx, "Failed to remove user "+a.Name, "remove_user", a.Kwargs, a.Name)
		},
		Texts: change.Texts{Same: "User " + a.Name + " is not present",
			Would: "User " + a.Name + " will be removed",
			Done:  "Removed user " + a.Name},
		Silent: true,
	}.Ensure(ctx)
}
