package postgres

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Tablespace returns the state postgres_tablespace.
//
// Differences from Salt: test mode does not alter the owner, and it fails if the tablespace is in
// another directory, like a real run. Alterations are made on the server that the arguments
// specify. A statement that the server rejects is a failure.
func Tablespace() loader.Plugin {
	return state("postgres_tablespace", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentTablespace).Secret("db_password"),
			loader.F("present", m.presentTablespace).Secret("db_password"),
		}
	})
}

type tablespaceArgs struct {
	Name      string
	Directory string
	Options   any `default:"None"`
	Owner     any `default:"None"`
	server
}

// presentTablespace creates or changes a tablespace.
//
// directory
//
//	An existing directory on the server that belongs to the server's user.
//
// options
//
//	A dictionary of seq_page_cost and random_page_cost.
//
// owner
//
//	The role that owns it. Default: the role that connects.
//
// user
//
//	The system user that psql runs as. Default: postgres, if the server is on this host.
//
// maintenance_db, db_host, db_port, db_user, db_password
//
//	The database to connect to, and the connection parameters.
//
//	fast:
//	  postgres_tablespace.present:
//	    - directory: /ssd/postgres
func (m *module) presentTablespace(ctx context.Context, a tablespaceArgs) (change.Result, error) {
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) { return m.tablespace(ctx, a) },
		Wants: func(now *data.Map) *data.Map {
			if now == nil {
				return data.NewMap(a.Name, "Present")
			}
			wants := a.wants(now)
			return change.When(wants.Len() > 0, data.NewMap(a.Name, wants))
		},
		Apply: func(ctx context.Context, now *data.Map) error {
			if now == nil {
				made, err := m.call(ctx, "tablespace_create", a.server, nil, a.Name, a.Directory,
					a.Options, a.Owner)
				return refusal("Failed to create tablespace "+a.Name, made, err)
			}
			return m.alterTablespace(ctx, a, a.wants(now))
		},
		Silent: true,
		Say:    a.comment,
		Trust:  true, // the server may write the directory differently
	}.Ensure(ctx)
}

// tablespace reads the tablespace. It returns nil if it does not exist.
func (m *module) tablespace(ctx context.Context, a tablespaceArgs) (*data.Map, error) {
	all, err := m.call(ctx, "tablespace_list", a.server, nil)
	if err != nil {
		return nil, err
	}
	spaces, err := calls.FoundIn[*data.Map]("postgres.tablespace_list", all)
	now, ok := spaces.Value(a.Name).(*data.Map)
	if ok && now.Text("Location") != a.Directory {
		err = change.Reason("Tablespace " + a.Name + " is not at the right location. This is\n" +
			"            unfixable without dropping and recreating the tablespace.")
	}
	return now, err
}

// comment returns the comment, nil for the text of an error.
func (a tablespaceArgs) comment(o change.Outcome[*data.Map]) any {
	options := o.Before != nil && a.wants(o.Before).Has("options")
	switch {
	case o.Stage == change.StageSame:
		return "Tablespace " + a.Name + " is already present"
	case o.Stage == change.StageWould && o.Before == nil:
		return "Tablespace " + a.Name + " is set to be created"
	case o.Stage == change.StageWould && options:
		return "Tablespace " + a.Name + " options to be\n                        altered"
	case o.Stage == change.StageWould:
		return "Tablespace " + a.Name + " owner to be altered"
	case o.Stage == change.StageDone && o.Before == nil:
		return "The tablespace " + a.Name + " has been created"
	case o.Stage == change.StageDone && options:
		return "Tablespace " + a.Name + " opts changed"
	case o.Stage == change.StageDone:
		return "Tablespace " + a.Name + " owner changed"
	}
	return nil
}

// wants returns the changes to make to owner and options.
func (a tablespaceArgs) wants(now *data.Map) *data.Map {
	wants := data.NewMap()
	if data.Truth(a.Owner) && !data.Equal(now.Value("Owner"), a.Owner) {
		wants.Set("owner", a.Owner)
	}
	given, _ := a.Options.(*data.Map)
	options := data.NewMap()
	set := strings.Split(strings.Trim(now.Text("Opts"), "{}"), ",")
	for name, v := range given.All() {
		if !contains(set, data.Str(name)+"="+data.Str(v)) {
			options.Set(name, v)
		}
	}
	if options.Len() > 0 {
		wants.Set("options", options)
	}
	return wants
}

func contains(list []string, text string) bool {
	for _, item := range list {
		if strings.Trim(item, `"`) == text {
			return true
		}
	}
	return false
}

// alterTablespace applies the changes to the tablespace.
func (m *module) alterTablespace(ctx context.Context, a tablespaceArgs, wants *data.Map) error {
	kwargs := data.NewMap()
	if wants.Has("owner") {
		kwargs.Set("new_owner", wants.Value("owner"))
	}
	if wants.Has("options") {
		kwargs.Set("set_option", wants.Value("options"))
	}
	done, err := m.call(ctx, "tablespace_alter", a.server, kwargs, a.Name)
	return refusal("Failed to alter tablespace "+a.Name, done, err)
}

type absentTablespaceArgs struct {
	Name string
	userServer
}

// absentTablespace removes a tablespace, which must be empty. The arguments are those of
// postgres_tablespace.present.
//
//	fast:
//	  postgres_tablespace.absent: []
func (m *module) absentTablespace(
	ctx context.Context, a absentTablespaceArgs,
) (change.Result, error) {
	return desired{
		name: a.Name,
		is: func(ctx context.Context) (any, error) {
			return not(m.call(ctx, "tablespace_exists", a.server(), nil, a.Name))
		},
		make: func(ctx context.Context) (any, error) {
			return m.call(ctx, "tablespace_remove", a.server(), nil, a.Name)
		},
		word:  "Absent",
		texts: removal("Tablespace", a.Name),
	}.ensure(ctx)
}
