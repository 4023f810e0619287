//go:build unix

package cron_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testroot"
)

// program stores crontabs in the directory TABS, like crontab(1): it accepts -u USER, -l and a
// file.
const program = `#!/bin/sh
user=me
if [ "$1" = -u ]; then user=$2; shift 2; fi
case $user in none*) echo "crontab:  user '$user' unknown" >&2; exit 1;; esac
if [ "$1" = -l ]; then
	[ -f "$TABS/$user" ] || { echo "no crontab for $user" >&2; exit 1; }
	[ -f "$TABS/killed" ] && { head -c 5 "$TABS/$user"; kill -9 $$; }
	[ -f "$TABS/silent" ] && kill -9 $$
	[ -f "$TABS/broken" ] && { echo "crontab: $user: Input/output error" >&2; exit 1; }
	exec cat "$TABS/$user"
fi
if grep -q refuse "$1"; then echo "errors in crontab file" >&2; exit 1; fi
cat "$1" > "$TABS/$user"
`

const mark = "# Lines below here are managed by Salt, do not edit\n"

// newRoot creates a system whose crontab is the test program. All calls are for the crontab of the
// user who runs the test.
func newRoot(t *testing.T) (r *testroot.Root, tab string) {
	t.Helper()
	dir, tabs := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "crontab"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("TABS", tabs)
	return testroot.Plain(t), filepath.Join(tabs, "me")
}

func read(t *testing.T, tab string) string {
	t.Helper()
	text, err := os.ReadFile(tab)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func current(t *testing.T, r *testroot.Root) string {
	t.Helper()
	return r.Call(t, "file.uid_to_user", int64(os.Geteuid())).(string)
}

// The comments and the files are those of Salt 3006.0.
func TestJobsAndVariables(t *testing.T) {
	r, tab := newRoot(t)
	user := current(t, r)
	if err := os.WriteFile(tab, []byte("# mine\n5 * * * * mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	changes := func(name string) *data.Map { return data.NewMap(user, name) }
	for _, c := range []struct {
		fun                           string
		args                          *data.Map
		would, done, same, testedSame string
		tab                           string
	}{
		{"cron.present", data.NewMap("name", " run it ", "minute", "5", "hour", int64(2)),
			"Cron run it is set to be added", "Cron run it added to " + user +
				"'s crontab", "Cron run it already present", "",
			"# SALT_CRON_IDENTIFIER:run it\n5 2 * * * run it\n"},
		{"cron.present", data.NewMap("name", "run it", "minute", "5", "hour", int64(2), "comment",
			"why\nso", "commented", true, "dayweek", "MON"),
			"Cron run it is set to be updated", "Cron run it updated", "Cron run it already present", "",
			"# why\n# so SALT_CRON_IDENTIFIER:run it\n#DISABLED#5 2 * * mon run it\n"},
		{"cron.present", data.NewMap("name", "daily", "special", "@daily", "identifier", "two"),
			"Cron daily is set to be added", "Cron daily added to " + user +
				"'s crontab", "Cron daily already present", "",
			"# why\n# so SALT_CRON_IDENTIFIER:run it\n#DISABLED#5 2 * * mon run it\n# SALT_CRON_IDENTIFIER:two\n@daily daily\n"},
		{"cron.env_present", data.NewMap("name", "MAILTO"),
			"Cron env MAILTO is set to be added", "Cron env MAILTO added to " + user +
				"'s crontab", "Cron env MAILTO already present", "", ""},
		{"cron.env_present", data.NewMap("name", "MAILTO", "value", "ann"),
			"Cron env MAILTO is set to be updated", "Cron env MAILTO updated",
			"Cron env MAILTO already present", "",
			"MAILTO=ann\n# why\n# so SALT_CRON_IDENTIFIER:run it\n#DISABLED#5 2 * * mon run it\n# SALT_CRON_IDENTIFIER:two\n@daily daily\n"},
		{"cron.env_absent", data.NewMap("name", "MAILTO"),
			"Cron env MAILTO is set to be removed", "Cron env MAILTO removed from " + user +
				"'s crontab", "Cron env MAILTO already absent", "Cron env MAILTO is absent", ""},
		{"cron.absent", data.NewMap("name", "run it", "minute", "7"),
			"Cron run it is set to be removed", "Cron run it removed from " + user +
				"'s crontab", "Cron run it already absent", "Cron run it is absent", ""},
		{"cron.absent", data.NewMap("name", "daily", "special", "@daily", "identifier", "two"),
			"Cron daily is set to be removed", "Cron daily removed from " + user +
				"'s crontab", "Cron daily already absent", "Cron daily is absent", "\x00"},
	} {
		c.args.Set("user", user)
		before := read(t, tab)
		name := strings.TrimSpace(c.args.Text("name"))
		r.Expect(t, true, c.fun, c.args, testroot.Step{Comment: c.would})
		if after := read(t, tab); after != before {
			t.Errorf("test mode wrote\n%s", after)
		}
		r.Expect(t, false, c.fun, c.args,
			testroot.Step{Result: true, Changes: changes(name), Comment: c.done})
		r.Expect(t, false, c.fun, c.args, testroot.Step{Result: true, Comment: c.same})
		if c.testedSame == "" {
			c.testedSame = c.same
		}
		r.Expect(t, true, c.fun, c.args, testroot.Step{Result: true, Comment: c.testedSame})
		if want := "# mine\n5 * * * * mine\n" + mark + strings.Trim(c.tab, "\x00"); c.tab != "" &&
			read(t, tab) != want {
			t.Errorf("%s: the crontab is\n%s\nwant\n%s", c.fun, read(t, tab), want)
		}
	}
}

func TestRandomTimesStay(t *testing.T) {
	r, tab := newRoot(t)
	user := current(t, r)
	args := data.NewMap("name", "x", "user", user, "minute", "random", "hour", "1:4", "daymonth",
		"random", "month", "random", "dayweek", "random")
	r.Expect(t, false, "cron.present", args,
		testroot.Step{Result: true, Changes: data.NewMap(user, "x"), Comment: "Cron x added to " +
			user + "'s crontab"})
	first := read(t, tab)
	for range 3 {
		r.Expect(t, false, "cron.present", args,
			testroot.Step{Result: true, Comment: "Cron x already present"})
	}
	if now := read(t, tab); now != first || strings.Contains(now, "random") {
		t.Errorf("%s\nbecame\n%s", first, now)
	}
}

func TestInvalidCalls(t *testing.T) {
	r, tab := newRoot(t)
	user := current(t, r)
	r.Expect(t, false, "cron.present", data.NewMap("name", "refuse", "user", user),
		testroot.Step{Result: false, Comment: "Cron refuse for user " + user +
			" failed to commit with error \nerrors in crontab file"})
	if err := os.WriteFile(tab, []byte("0 1 * * * precious\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"broken", "silent", "killed"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(tab), how), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if v, err := r.States.Invoke(t.Context(), "cron.present", nil,
			data.NewMap("name", "x", "user", user)); err == nil || read(t, tab) != "0 1 * * * precious\n" {
			t.Errorf("a crontab that cannot be read, %s: %s, %v\n%s", how, data.Repr(v), err, read(t, tab))
		}
		if err := os.Remove(filepath.Join(filepath.Dir(tab), how)); err != nil {
			t.Fatal(err)
		}
	}
}

// A name with line breaks does not become several jobs.
func TestOneJobIsOneLine(t *testing.T) {
	r, tab := newRoot(t)
	user := current(t, r)
	if err := os.WriteFile(tab, []byte("0 1 * * * mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const other = "x\n* * * * * evil"
	for fun, args := range map[string]*data.Map{
		"cron.present":     data.NewMap("name", other),
		"cron.env_present": data.NewMap("name", "A", "value", other),
	} {
		for _, more := range []*data.Map{{}, data.NewMap("name", "x", "identifier", other),
			data.NewMap("name", "x", "minute", other), data.NewMap("name", "x", "special", other)} {
			if fun == "cron.env_present" && more.Len() > 0 {
				continue
			}
			all := args.Clone()
			all.Update(more)
			all.Set("user", user)
			if v, err := r.States.Invoke(t.Context(), fun, nil, all); err == nil ||
				read(t, tab) != "0 1 * * * mine\n" {
				t.Errorf("%s %s: %s, %v\n%s", fun, data.Repr(all), data.Repr(v), err, read(t, tab))
			}
		}
	}
}

func TestFile(t *testing.T) {
	need.Root(t, "to give the file to the group root")
	r, tab := newRoot(t)
	user := current(t, r)
	r.Write(t, "etc/passwd", user+":x:0:0::/:/bin/sh\n")
	r.Write(t, "srv/salt/tab", "0 1 * * * {{ what }}\n")
	args := data.NewMap("name", "salt://tab", "user", user, "template", "jinja",
		"context", data.NewMap("what", "run"))
	if got := r.Apply(t, true, "cron.file", args); got.Value("result") != nil {
		t.Errorf("test mode: %s", data.Repr(got))
	}
	if _, err := os.Stat(tab); !os.IsNotExist(err) {
		t.Error("test mode wrote")
	}
	got := r.Apply(t, false, "cron.file", args)
	if got.Value("result") != true || got.Value("comment") != "Crontab for user "+user+
		" was updated" || !got.Value("changes").(*data.Map).Has("diff") || read(t, tab) != "0 1 * * * run\n" {
		t.Errorf("got %s", data.Repr(got))
	}
	r.Expect(t, false, "cron.file", args,
		testroot.Step{Result: true, Comment: "Crontab for user " + user + " is in the correct state"})
	args.Set("replace", false)
	args.Set("context", data.NewMap("what", "another"))
	r.Expect(t, false, "cron.file", args,
		testroot.Step{Result: true, Comment: "User " + user + " already has a crontab. No changes made"})
	args.Set("user", "none")
	r.Expect(t, false, "cron.file", args,
		testroot.Step{Result: false, Comment: "Could not identify group for user none"})
}

// The states use most functions of the module. These are the others.
func TestFunctions(t *testing.T) {
	r, tab := newRoot(t)
	user := current(t, r)
	entry := data.NewMap("minute", "1", "hour", "*", "daymonth", "*", "month", "*", "dayweek", "*",
		"identifier", "id", "cmd", "cmd", "comment", "", "commented", false)
	special := data.NewMap("spec", "@daily", "cmd", "two", "identifier", nil, "comment", nil,
		"commented", false)
	whole := data.NewMap("pre", []any{}, "crons", []any{entry}, "special", []any{special},
		"env", []any{data.NewMap("name", "A", "value", "b")})
	file := filepath.Join(t.TempDir(), "tab")
	if err := os.WriteFile(file, []byte("# whole\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Check(t, []testroot.Call{
		{"cron.raw_cron", []any{user}, ""},
		{"cron.set_job", []any{user, "1", "*", "*", "*", "*", "cmd", false, nil, "id"}, "new"},
		{"cron.set_job", []any{user, "1", "*", "*", "*", "*", "cmd", false, nil, "id"}, "present"},
		{"cron.set_special", []any{user, "@daily", "two"}, "new"},
		{"cron.set_special", []any{user, "@daily", "two"}, "present"},
		{"cron.set_env", []any{user, "A", "b"}, "new"},
		{"cron.set_env", []any{user, "A", "b"}, "present"},
		{"cron.list_tab", []any{user}, whole},
		{"cron.ls", []any{user}, whole},
		{"cron.get_entry", []any{user, "id"}, entry},
		{"cron.get_entry", []any{user, nil, "two"}, special},
		{"cron.get_entry", []any{user, "none", "two"}, false},
		{"cron.rm_job", []any{user, "cmd", int64(2), nil, nil, nil, nil, "id"}, "absent"},
		{"cron.rm", []any{user, "cmd", int64(1), nil, nil, nil, nil, "id"}, "removed"},
		{"cron.rm", []any{user, "cmd", nil, nil, nil, nil, nil, "id"}, "absent"},
		{"cron.rm_special", []any{user, "two"}, "removed"},
		{"cron.rm_special", []any{user, "two"}, "absent"},
		{"cron.rm_env", []any{user, "A"}, "removed"},
		{"cron.rm_env", []any{user, "A"}, "absent"},
		{"cron.raw_cron", []any{user}, mark},
		{"cron.write_cron_file", []any{user, file}, true},
		{"cron.write_cron_file", []any{user, file}, true},
		{"cron.raw_cron", []any{user}, "# whole\n"},
	})
	for range 2 {
		if v := r.Call(t, "cron.write_cron_file_verbose", user,
			file).(*data.Map); v.Value("retcode") != int64(0) {
			t.Errorf("got %s", data.Repr(v))
		}
	}
	if read(t, tab) != "# whole\n" {
		t.Errorf("the crontab is %s", read(t, tab))
	}
}
