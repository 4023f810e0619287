package postgres_test

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
)

// serverDir creates a directory that belongs to the server.
func serverDir(t *testing.T) string {
	t.Helper()
	owner, err := user.Lookup("postgres")
	need.That(t, "user postgres", err)
	dir, err := os.MkdirTemp("/var/tmp", "brine-tablespace-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	uid, err1 := strconv.Atoi(owner.Uid)
	gid, err2 := strconv.Atoi(owner.Gid)
	if err := errors.Join(err1, err2, os.Chown(dir, uid, gid)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestParts compares with the answers that Salt 3006.0 gave on the same server for schemas,
// languages and tablespaces, one call after the other.
func TestParts(t *testing.T) {
	need.Root(t, "to give a folder to the server")
	server(t)
	for _, name := range []string{"brine_t", "brine_v"} {
		if psql(t, "postgres", "DROP TABLESPACE IF EXISTS "+name) != nil {
			t.Fatalf("%s cannot be removed", name)
		}
	}
	src, err := os.ReadFile("testdata/parts.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode([]byte(strings.ReplaceAll(string(src), "FOLDER", serverDir(t))))
	if err != nil {
		t.Fatal(err)
	}
	r := registry(t, options())
	for _, c := range vectors.Cases(t, list.([]any)) {
		c.Only("fun", "args", "kwargs", "value")
		got, err := r.Invoke(t.Context(), c.Text("fun"), c.List("args"), c.Object("kwargs"))
		if want := c.Value("value"); err != nil || !data.Equal(got, want) {
			t.Errorf("%s %s %s\n got %s, %v\nwant %s", c.Text("fun"), data.Repr(c.List("args")),
				data.Repr(c.Object("kwargs")), data.Repr(got), err, data.Repr(want))
		}
	}
}

// TestBadOptions passes texts that would inject more than an option.
func TestBadOptions(t *testing.T) {
	server(t)
	r := registry(t, options())
	for _, kwargs := range []*data.Map{data.NewMap("reset_option", "a); DROP TABLE x"),
		data.NewMap("set_option", data.NewMap("a b", 1)), data.NewMap("set_option", "a")} {
		if v, err := r.Invoke(t.Context(), "postgres.tablespace_alter", []any{"brine_none"},
			kwargs); err == nil {
			t.Errorf("%s gives %v", data.Repr(kwargs), v)
		}
	}
}

// initdb replaces the program: it stores its arguments and the password, and creates what the
// program would create.
const initdb = `#!/bin/sh
for w in "$@"; do
	case $w in
	--pgdata=*) dir=${w#--pgdata=} ;;
	--pwfile=*) cat "${w#--pwfile=}" >"$(dirname "$0")/password"; w=--pwfile=FILE ;;
	esac
	printf '%s\n' "$w" >>"$(dirname "$0")/words"
done
mkdir -p "$dir" && : >"$dir/PG_VERSION" && : >"$dir/postgresql.conf"
`

// TestDatadir creates a directory twice. The second call changes nothing.
func TestDatadir(t *testing.T) {
	bin, me := t.TempDir(), ""
	if u, err := user.Current(); err == nil {
		me = u.Username
	}
	if err := os.WriteFile(filepath.Join(bin, "initdb"), []byte(initdb), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	r, err := loader.NewRegistry(&loader.Env{}, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	for _, isDataDir := range []bool{false, true} {
		if got := call(t, r, "datadir_exists", nil, dir); got != isDataDir {
			t.Errorf("datadir_exists gives %v, want %v", got, isDataDir)
		}
		kwargs := data.NewMap("password", "s3cret", "runas", me, "locale", "C", "waldir", "/wal",
			"checksums", true)
		if got := call(t, r, "datadir_init", kwargs, dir); got == isDataDir {
			t.Errorf("datadir_init gives %v", got)
		}
	}
	words, err1 := os.ReadFile(filepath.Join(bin, "words"))
	password, err2 := os.ReadFile(filepath.Join(bin, "password"))
	want := "--pgdata=" + dir + "\n--username=" + me +
		"\n--auth=password\n--encoding=UTF8\n--locale=C\n-X\n/wal\n--data-checksums\n--pwfile=FILE\n"
	if err1 != nil || err2 != nil || string(words) != want || string(password) != "s3cret" {
		t.Errorf("initdb got\n%s%v\npassword %q, %v, want\n%s", words, err1, password, err2, want)
	}
}
