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
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Query returns the state mysql_query.
//
// A statement is executed in each run and counts as a change. With overwrite: False it is executed
// only while its grain or file is missing.
//
// Differences from Salt: a statement that the server rejects, and a server that cannot be reached,
// are failures with the reason. The results of run_file are a list of rows for each statement,
// where Salt confuses rows and columns. NULL is written to a file as None. A grain that is not a
// dictionary is reported before anything is executed.
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
//	Where to store the result: grain, or the path of a file. Default: only in the comment.
//
// grain, key
//
//	The grain to store it in, and the key in that grain if it is a dictionary.
//
// overwrite
//
//	False: execute nothing if the file, the grain or its key already exists.
//
// check_db_exists
//
//	False: do not check whether the database exists.
//
// client_flags
//
//	A list of flags for the connection: multi_statements, found_rows.
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

// runFile executes the statements in a file. Each statement ends at the end of a line.
//
// database, query_file
//
//	The database, and the file: a path, or a URL that begins with salt, http, https, s3 or swift.
//
// saltenv
//
//	The environment for a file of the master. Default: that of the run.
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
		return change.Failed(a.Name, fmt.Sprintf("File %s does not exist", data.Str(a.QueryFile))),
			nil
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

// connection returns the connection arguments, and false if the flags are not a list.
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

// file returns the local path of a file or URL, "" if it does not exist.
func (m *module) file(ctx context.Context, name, saltenv any) (string, error) {
	if !regexp.MustCompile(`^(https?|salt|s3|swift)://`).MatchString(data.Str(name)) {
		return data.Str(name), nil
	}
	if !data.Truth(saltenv) {
		saltenv = change.CallOf(ctx).SaltEnv
	}
	return calls.CacheFile(ctx, m.env, calls.Source{Path: name, SaltEnv: saltenv})
}
