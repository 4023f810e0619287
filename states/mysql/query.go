package mysql

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Query returns the state mysql_query.
//
// A statement is executed each time, and that is a change; with overwrite: False it is executed only
// while its grain or file is missing.
//
// What differs from Salt: a statement that the server refuses, and a server that cannot be reached,
// are failures that say why; results of run_file are for each statement a list of rows, where Salt
// takes a row for a column; NULL is written to a file as None; a grain that has no keys is told
// before anything is executed.
func Query() loader.Plugin {
	return state("mysql_query", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("run", m.run).Secret("connection_pass"),
			loader.F("run_file", m.runFile).Secret("connection_pass"),
		}
	})
}

type runArgs struct {
	Name     any
	Database any
	Query    any
	target
	CheckDbExists any       `default:"True"`
	ClientFlags   any       `default:"None"`
	Conn          *data.Map `kwargs:"connection_args"`
}

// run executes a statement.
//
// database, query
//
//	The database, and the statement.
//
// output
//
//	Where to store the result: grain, or the path of a file. Default: it is in the comment alone.
//
// grain, key
//
//	The grain to store it in, and the key of that grain if it is a dictionary.
//
// overwrite
//
//	False executes nothing where the file, the grain or its key is there already.
//
// check_db_exists
//
//	False does not look whether there is the database.
//
// client_flags
//
//	A list of flags of the connection: multi_statements, found_rows.
//
//	count_users:
//	  mysql_query.run:
//	    - database: shop
//	    - query: SELECT COUNT(*) AS users FROM users
//	    - output: grain
//	    - grain: shop_users
//	    - overwrite: False
func (m *module) run(ctx context.Context, a runArgs) (any, error) {
	conn, ok := connection(a.Conn, a.ClientFlags)
	if !ok {
		return change.Failed(a.Name, noFlags), nil
	}
	s := statement{m, a.Name, a.Database, conn, "query", a.Query}
	if data.Truth(a.CheckDbExists) {
		if ret, err := s.missing(ctx, a.Name); ret != nil || err != nil {
			return ret, err
		}
	}
	return s.ensure(ctx, a.target)
}

type runFileArgs struct {
	Name      any
	Database  any
	QueryFile any `default:"None"`
	target
	Saltenv       any       `default:"None"`
	CheckDbExists any       `default:"True"`
	ClientFlags   any       `default:"None"`
	Conn          *data.Map `kwargs:"connection_args"`
}

// runFile executes the statements of a file, each of which ends at the end of a line.
//
// database, query_file
//
//	The database, and the file: a path, or a URL that begins with salt, http, https, s3 or swift.
//
// saltenv
//
//	The environment that a file of the master is taken from. Default: that of the run.
//
// output, grain, key, overwrite, check_db_exists, client_flags
//
//	As for mysql_query.run.
//
//	schema:
//	  mysql_query.run_file:
//	    - database: shop
//	    - query_file: salt://shop/schema.sql
//	    - output: /var/lib/shop/schema.done
//	    - overwrite: False
func (m *module) runFile(ctx context.Context, a runFileArgs) (any, error) {
	conn, ok := connection(a.Conn, a.ClientFlags)
	if !ok {
		return change.Failed(a.Name, noFlags), nil
	}
	file, err := m.file(ctx, a.QueryFile, a.Saltenv)
	if err != nil {
		return nil, err
	}
	switch _, err := os.Stat(file); {
	case file == "" || errors.Is(err, fs.ErrNotExist):
		return change.Failed(a.Name, fmt.Sprintf("File %s does not exist", data.Str(a.QueryFile))), nil
	case err != nil:
		return nil, loader.OSError(err)
	}
	s := statement{m, a.Name, a.Database, conn, "file_query", file}
	if data.Truth(a.CheckDbExists) {
		if ret, err := s.missing(ctx, a.Database); ret != nil || err != nil {
			return ret, err
		}
	}
	return s.ensure(ctx, a.target)
}

const noFlags = "Error: client_flags must be a list."

// connection returns how to reach the server, and false where the flags are no list.
func connection(conn *data.Map, flags any) (*data.Map, bool) {
	if flags == nil {
		flags = []any{}
	}
	all := &data.Map{}
	all.Update(conn)
	all.Set("client_flags", flags)
	_, ok := flags.([]any)
	return all, ok
}

// file returns where a file, or that of a URL, is on this system; "" for one that nobody has.
func (m *module) file(ctx context.Context, name, saltenv any) (string, error) {
	if !regexp.MustCompile(`^(https?|salt|s3|swift)://`).MatchString(data.Str(name)) {
		return data.Str(name), nil
	}
	if !data.Truth(saltenv) {
		saltenv = change.CallOf(ctx).SaltEnv
	}
	cached, err := m.env.Call(ctx, "cp.cache_file", []any{name}, data.NewMap("saltenv", saltenv))
	if err != nil || !data.Truth(cached) {
		return "", err
	}
	return data.Str(cached), nil
}
