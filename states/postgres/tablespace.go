package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Tablespace returns the state postgres_tablespace.
//
// What differs from Salt: test mode alters no owner, and a tablespace at another place fails in it
// too; what is altered is altered at the server that the arguments name; a statement that the server
// refuses is a failure.
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

// presentTablespace keeps a tablespace.
//
// directory
//
//	A directory of the server that belongs to the user of the server. It has to be there.
//
// options
//
//	A dictionary of seq_page_cost and random_page_cost.
//
// owner
//
//	The role that it belongs to. Default: the one that connects.
//
// user
//
//	As which user of the system psql runs. Default: postgres, where the server is on this host.
//
// maintenance_db, db_host, db_port, db_user, db_password
//
//	The database to connect to, and how.
//
//	fast:
//	  postgres_tablespace.present:
//	    - directory: /ssd/postgres
func (m *module) presentTablespace(ctx context.Context, a tablespaceArgs) (any, error) {
	all, err := m.call(ctx, "tablespace_list", a.server, nil)
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	spaces, _ := all.(*data.Map)
	now, ok := spaces.Value(a.Name).(*data.Map)
	if !ok {
		return m.createTablespace(ctx, a), nil
	}
	if now.Text("Location") != a.Directory {
		return change.Failed(a.Name, "Tablespace "+a.Name+" is not at the right location. This is\n"+
			"            unfixable without dropping and recreating the tablespace."), nil
	}
	wants := a.wants(now)
	if change.Test(ctx) || wants.Len() == 0 {
		return a.told(wants), nil
	}
	return m.alterTablespace(ctx, a, wants), nil
}

// createTablespace makes the tablespace.
func (m *module) createTablespace(ctx context.Context, a tablespaceArgs) *data.Map {
	if change.Test(ctx) {
		return change.Would(a.Name, nil, fmt.Sprintf("Tablespace %s is set to be created", a.Name))
	}
	made, err := m.call(ctx, "tablespace_create", a.server, nil, a.Name, a.Directory, a.Options, a.Owner)
	switch {
	case err != nil:
		return change.Failed(a.Name, err.Error())
	case !data.Truth(made):
		return change.Failed(a.Name, fmt.Sprintf("Failed to create tablespace %s", a.Name))
	}
	return change.New(a.Name, true, data.NewMap(a.Name, "Present"), fmt.Sprintf("The tablespace %s has been created", a.Name))
}

// wants returns what is to be altered: owner, and options.
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

// told says in test mode what is to be altered.
func (a tablespaceArgs) told(wants *data.Map) *data.Map {
	switch {
	case wants.Has("options"):
		return change.Would(a.Name, nil, "Tablespace "+a.Name+" options to be\n                        altered")
	case wants.Has("owner"):
		return change.Would(a.Name, nil, "Tablespace "+a.Name+" owner to be altered")
	}
	return change.Done(a.Name, "Tablespace "+a.Name+" is already present")
}

// alterTablespace brings the tablespace to what is wanted.
func (m *module) alterTablespace(ctx context.Context, a tablespaceArgs, wants *data.Map) *data.Map {
	kwargs, comment := data.NewMap(), "Tablespace "+a.Name+" owner changed"
	if wants.Has("owner") {
		kwargs.Set("new_owner", wants.Value("owner"))
	}
	if wants.Has("options") {
		kwargs.Set("set_option", wants.Value("options"))
		comment = "Tablespace " + a.Name + " opts changed"
	}
	done, err := m.call(ctx, "tablespace_alter", a.server, kwargs, a.Name)
	switch {
	case err != nil:
		return change.Failed(a.Name, err.Error())
	case !data.Truth(done):
		return change.Failed(a.Name, fmt.Sprintf("Failed to alter tablespace %s", a.Name))
	}
	return change.New(a.Name, true, data.NewMap(a.Name, wants), comment)
}

type absentTablespaceArgs struct {
	Name string
	userServer
}

// absentTablespace removes a tablespace, in which nothing may be. The arguments are those of postgres_tablespace.present.
//
//	fast:
//	  postgres_tablespace.absent: []
func (m *module) absentTablespace(ctx context.Context, a absentTablespaceArgs) (any, error) {
	there, err := m.call(ctx, "tablespace_exists", a.server(), nil, a.Name)
	switch {
	case err != nil:
		return change.Failed(a.Name, err.Error()), nil
	case !data.Truth(there):
		return change.Done(a.Name, fmt.Sprintf("Tablespace %s is not present, so it cannot be removed", a.Name)), nil
	case change.Test(ctx):
		return change.Would(a.Name, nil, fmt.Sprintf("Tablespace %s is set to be removed", a.Name)), nil
	}
	gone, err := m.call(ctx, "tablespace_remove", a.server(), nil, a.Name)
	switch {
	case err != nil:
		return change.Failed(a.Name, err.Error()), nil
	case !data.Truth(gone):
		return change.Failed(a.Name, fmt.Sprintf("Tablespace %s failed to be removed", a.Name)), nil
	}
	return change.New(a.Name, true, data.NewMap(a.Name, "Absent"), fmt.Sprintf("Tablespace %s has been removed", a.Name)), nil
}
