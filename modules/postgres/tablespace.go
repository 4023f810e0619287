package postgres

import (
	"context"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

const tablespaces = `SELECT spcname AS "Name", pga.rolname AS "Owner", spcacl AS "ACL", spcoptions AS "Opts",
	pg_tablespace_location(pgts.oid) AS "Location" FROM pg_tablespace pgts JOIN pg_roles pga ON pga.oid = pgts.spcowner`

// tablespaceList returns the tablespaces of a server with Owner, ACL, Opts and Location.
//
// CLI Example:
//
//	salt '*' postgres.tablespace_list
func (m *module) tablespaceList(ctx context.Context, a tablespaceListArgs) (any, error) {
	rows, err := m.rows(ctx, a.at(), tablespaces)
	return named(rows, "Name"), err
}

// tablespaceExists reports whether a tablespace exists.
//
// CLI Example:
//
//	salt '*' postgres.tablespace_exists 'fast'
func (m *module) tablespaceExists(ctx context.Context, a tablespaceExistsArgs) (any, error) {
	rows, err := m.rows(ctx, a.at(), tablespaces+" WHERE spcname = "+literal(a.Name))
	return len(rows) > 0, err
}

// option returns the name of a tablespace option in the form used in statements.
func option(name any) (string, error) {
	text := strings.TrimSpace(data.Str(name))
	if !regexp.MustCompile(`^[A-Za-z_]\w*$`).MatchString(text) {
		return "", loader.Invocation("%s is not an option name", data.Repr(name))
	}
	return text, nil
}

// tablespaceOptions formats options with their values.
func tablespaceOptions(v any) (string, error) {
	all, ok := v.(*data.Map)
	if !ok {
		return "", loader.Invocation("options must be a dictionary, not %s", data.Repr(v))
	}
	var list []string
	for name, v := range all.All() {
		text, err := option(name)
		if err != nil {
			return "", err
		}
		list = append(list, text+" = "+literal(v))
	}
	return strings.Join(list, ", "), nil
}

// tablespaceCreate creates a tablespace in a directory of the server, and reports whether the
// server did so.
//
// options
//
//	A dictionary, such as random_page_cost: 1.1.
//
// CLI Example:
//
//	salt '*' postgres.tablespace_create fast '/ssd/postgres'
func (m *module) tablespaceCreate(ctx context.Context, a tablespaceCreateArgs) (any, error) {
	statement := "CREATE TABLESPACE " + ident(a.Name)
	if data.Truth(a.Owner) {
		statement += " OWNER " + ident(a.Owner)
	}
	statement += " LOCATION " + literal(a.Location)
	if data.Truth(a.Options) {
		text, err := tablespaceOptions(a.Options)
		if err != nil {
			return nil, err
		}
		statement += " WITH (" + text + ")"
	}
	return m.executeAlone(ctx, a.at(), statement)
}

// tablespaceAlter renames a tablespace, changes its owner, or sets or resets options. It reports
// whether the server did so.
//
// CLI Example:
//
//	salt '*' postgres.tablespace_alter fast new_owner=web
//	salt '*' postgres.tablespace_alter fast set_option="{'seq_page_cost': '1.1'}"
//	salt '*' postgres.tablespace_alter fast reset_option=seq_page_cost
func (m *module) tablespaceAlter(ctx context.Context, a tablespaceAlterArgs) (any, error) {
	changes, err := a.changes()
	if err != nil {
		return nil, err
	}
	for _, change := range changes {
		if ok, err := m.executeAlone(ctx, a.at(), "ALTER TABLESPACE "+change); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// changes returns the changes to make. The name changes last so that the other changes find the
// tablespace.
func (a tablespaceAlterArgs) changes() (list []string, err error) {
	name := ident(a.Name)
	if data.Truth(a.NewOwner) {
		list = append(list, name+" OWNER TO "+ident(a.NewOwner))
	}
	if data.Truth(a.SetOption) {
		text, err := tablespaceOptions(a.SetOption)
		if err != nil {
			return nil, err
		}
		list = append(list, name+" SET ("+text+")")
	}
	if data.Truth(a.ResetOption) {
		var names []string
		for text := range strings.SplitSeq(data.Str(a.ResetOption), ",") {
			if text, err = option(text); err != nil {
				return nil, err
			}
			names = append(names, text)
		}
		list = append(list, name+" RESET ("+strings.Join(names, ", ")+")")
	}
	if data.Truth(a.NewName) {
		list = append(list, name+" RENAME TO "+ident(a.NewName))
	}
	return list, nil
}

// tablespaceRemove removes an empty tablespace, and reports whether the server did so.
//
// CLI Example:
//
//	salt '*' postgres.tablespace_remove fast
func (m *module) tablespaceRemove(ctx context.Context, a tablespaceRemoveArgs) (any, error) {
	return m.executeAlone(ctx, a.at(), "DROP TABLESPACE "+ident(a.Name))
}
