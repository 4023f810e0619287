// Package incron is Salt's module incron: the tables of incron, which runs programs when files change
// (salt/modules/incron.py).
//
// Differences from Salt: a line with a command of one word is a job, and a comment is none; masks are
// compared in any order; a job that is not there is removed without writing the table.
// The minion's own user is not changed to by su.
package incron

import (
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module incron.
func Plugin() loader.Plugin { return loader.Plugin{Name: "incron", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("list_tab", m.listTab),
		loader.F("ls", m.ls),
		loader.F("raw_incron", m.rawIncron),
		loader.F("raw_system_incron", m.rawSystemIncron),
		loader.F("rm", m.rm),
		loader.F("rm_job", m.rmJob),
		loader.F("set_job", m.setJob),
		loader.F("write_incron_file", m.writeIncronFile),
		loader.F("write_incron_file_verbose", m.writeIncronFileVerbose),
	}}, nil
}

// systemTab is the directory of the tables that belong to no user.
const systemTab = "/etc/incron.d/"

func masks() []string {
	return strings.Fields("IN_ACCESS IN_ATTRIB IN_CLOSE_WRITE IN_CLOSE_NOWRITE IN_CREATE IN_DELETE " +
		"IN_DELETE_SELF IN_MODIFY IN_MOVE_SELF IN_MOVED_FROM IN_MOVED_TO IN_OPEN IN_ALL_EVENTS IN_MOVE " +
		"IN_CLOSE IN_DONT_FOLLOW IN_ONESHOT IN_ONLYDIR IN_NO_LOOP")
}

// A job is a line of a table.
type job struct{ path, mask, cmd string }

// A tab is a table: its jobs, and the other lines, which come first.
type tab struct {
	pre  []string
	jobs []job
}

// parse reads a table.
func parse(text string) tab {
	var t tab
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		words := strings.Fields(line)
		if len(words) < 3 || strings.HasPrefix(words[0], "#") {
			t.pre = append(t.pre, line)
			continue
		}
		t.jobs = append(t.jobs, job{words[0], words[1], strings.Join(words[2:], " ")})
	}
	return t
}

func (t tab) text() string {
	var b strings.Builder
	for _, line := range t.pre {
		b.WriteString(line + "\n")
	}
	for _, j := range t.jobs {
		b.WriteString(j.path + " " + j.mask + " " + j.cmd + "\n")
	}
	return b.String()
}

type fileArgs struct {
	User string
	Path string
}

// other returns a user to run a program as, "" for the minion's own.
func other(name string) string {
	if own, err := user.Current(); err == nil && own.Username == name {
		return ""
	}
	return name
}

// install runs incrontab with a file as a user.
func (m *module) install(ctx context.Context, name, path string) (calls.Ran, error) {
	if err := process.PlainOperands(name, path); err != nil {
		return calls.Ran{}, loader.Execution("%w", err)
	}
	return calls.RunAll(ctx, m.env, calls.Run{Argv: []string{"incrontab", path}, As: other(name)})
}

// writeIncronFile makes a file the table of a user, and returns whether incrontab accepts it.
//
// CLI Example:
//
//	salt '*' incron.write_incron_file root /tmp/new_incron
func (m *module) writeIncronFile(ctx context.Context, a fileArgs) (any, error) {
	ran, err := m.install(ctx, a.User, a.Path)
	return err == nil && ran.Retcode == 0, err
}

// writeIncronFileVerbose makes a file the table of a user, and returns the result of incrontab.
//
// CLI Example:
//
//	salt '*' incron.write_incron_file_verbose root /tmp/new_incron
func (m *module) writeIncronFileVerbose(ctx context.Context, a fileArgs) (any, error) {
	ran, err := m.install(ctx, a.User, a.Path)
	return ran.Map, err
}

// write replaces the table of a user, or the one of the system. It returns the complaint of
// incrontab, "" if it accepts the table.
func (m *module) write(ctx context.Context, user string, t tab) (complaint string, err error) {
	if user == "system" {
		dir := filepath.Join("/", m.env.Root, systemTab)
		if _, err := os.Stat(dir); err != nil {
			return "", loader.Exception("AttributeError", "salt cannot be written. %s does not exist",
				systemTab)
		}
		err := atomicfile.Write(filepath.Join(dir, "salt"), []byte(t.text()),
			atomicfile.Options{KeepMode: true})
		if err != nil {
			return "", loader.OSError(err)
		}
		return "", nil
	}
	file, err := os.CreateTemp("", "incron")
	if err != nil {
		return "", loader.OSError(err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // a temporary file
	_, err = file.WriteString(t.text())
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", loader.OSError(err)
	}
	if user != "root" {
		if err := process.PlainOperands(user); err != nil {
			return "", loader.Execution("%w", err)
		}
		if _, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"chown", user,
			file.Name()}}); err != nil {
			return "", err
		}
	}
	ran, err := m.install(ctx, user, file.Name())
	if err == nil && ran.Retcode != 0 && ran.Stderr == "" {
		ran.Stderr = "incrontab failed"
	}
	if ran.Retcode == 0 {
		ran.Stderr = ""
	}
	return ran.Stderr, err
}

type noArgs struct{}

// rawSystemIncron returns the table of the system that Salt writes.
//
// CLI Example:
//
//	salt '*' incron.raw_system_incron
func (m *module) rawSystemIncron(_ context.Context, _ noArgs) (any, error) { return m.system() }

// system returns the text of the system's table, which is empty if there is none.
func (m *module) system() (string, error) {
	src, err := os.ReadFile(filepath.Join("/", m.env.Root, systemTab, "salt"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", loader.OSError(err)
	}
	return string(src), nil
}

type userArgs struct{ User string }

// rawIncron returns the table of a user.
//
// CLI Example:
//
//	salt '*' incron.raw_incron root
func (m *module) rawIncron(ctx context.Context, a userArgs) (any, error) { return m.raw(ctx, a.User) }

func (m *module) raw(ctx context.Context, name string) (string, error) {
	if err := process.PlainOperands(name); err != nil {
		return "", loader.Execution("%w", err)
	}
	ran, err := calls.RunAll(ctx, m.env,
		calls.Run{Argv: []string{"incrontab", "-l", name}, As: other(name), KeepNewline: true})
	// A table that cannot be read is not empty: the next change would replace it.
	if err == nil && ran.Retcode != 0 && !strings.Contains(ran.Stderr, "no table for") {
		err = loader.Execution("incrontab -l %s: code %d: %s", name, ran.Retcode, strings.TrimSpace(ran.Stderr))
	}
	return ran.Stdout, err
}

func (m *module) read(ctx context.Context, user string) (tab, error) {
	if user == "system" {
		text, err := m.system()
		return parse(text), err
	}
	text, err := m.raw(ctx, user)
	return parse(text), err
}

// listTab returns the table of a user, or of the system for the user system: the jobs as crons, and
// the other lines as pre.
//
// CLI Example:
//
//	salt '*' incron.list_tab root
func (m *module) listTab(ctx context.Context, a userArgs) (any, error) {
	t, err := m.read(ctx, a.User)
	if err != nil {
		return nil, err
	}
	jobs := []any{}
	for _, j := range t.jobs {
		jobs = append(jobs, data.NewMap("path", j.path, "mask", j.mask, "cmd", j.cmd))
	}
	return data.NewMap("crons", jobs, "pre", data.Values(t.pre)), nil
}

// ls is incron.list_tab.
//
// CLI Example:
//
//	salt '*' incron.ls root
func (m *module) ls(ctx context.Context, a userArgs) (any, error) { return m.listTab(ctx, a) }

type jobArgs struct {
	User string
	Path string
	Mask any
	Cmd  string
}

// job returns the wanted line, or the text for a mask that does not exist.
func (a jobArgs) job() (j job, invalid string, err error) {
	j = job{a.Path, strings.ToUpper(data.Str(a.Mask)), a.Cmd}
	for _, item := range strings.Split(j.mask, ",") {
		if !slices.Contains(masks(), item) {
			return j, "Invalid mask type: " + item, nil
		}
	}
	if strings.ContainsAny(j.path, " \t\r\n\x00") || strings.ContainsAny(j.cmd, "\r\n\x00") {
		return j, "", loader.Execution("the path %q or the command %q has a blank or a line end", j.path,
			j.cmd)
	}
	return j, "", nil
}

// events returns the parts of a mask in order.
func events(mask string) []string {
	all := strings.Split(mask, ",")
	slices.Sort(all)
	return all
}

// setJob adds a job to the table of a user. One with the same path and command and with a common event
// is replaced. It returns present, new or updated, or the reason why not.
//
// mask
//
//	The events, such as IN_CREATE,IN_MODIFY.
//
// CLI Example:
//
//	salt '*' incron.set_job root '/root' 'IN_MODIFY' 'echo "$$ $@ $# $% $&"'
func (m *module) setJob(ctx context.Context, a jobArgs) (any, error) {
	wanted, invalid, err := a.job()
	if err != nil || invalid != "" {
		return invalid, err
	}
	t, err := m.read(ctx, a.User)
	if err != nil {
		return nil, err
	}
	result := "new"
	var kept []job
	for _, j := range t.jobs {
		if j.path == wanted.path && j.cmd == wanted.cmd {
			if slices.Equal(events(j.mask), events(wanted.mask)) {
				return "present", nil
			}
			if slices.ContainsFunc(events(j.mask),
				func(e string) bool { return slices.Contains(events(wanted.mask), e) }) {
				result = "updated"
				continue
			}
		}
		kept = append(kept, j)
	}
	t.jobs = append(kept, wanted)
	return m.commit(ctx, a.User, t, result)
}

// commit writes a table, and returns the result or the complaint.
func (m *module) commit(ctx context.Context, user string, t tab, result string) (any, error) {
	complaint, err := m.write(ctx, user, t)
	if err != nil || complaint != "" {
		return complaint, err
	}
	return result, nil
}

// rmJob removes a job from the table of a user. It returns absent or removed, or the reason why not.
//
// CLI Example:
//
//	salt '*' incron.rm_job root '/root' 'IN_MODIFY' 'echo "$$ $@ $# $% $&"'
func (m *module) rmJob(ctx context.Context, a jobArgs) (any, error) {
	wanted, invalid, err := a.job()
	if err != nil || invalid != "" {
		return invalid, err
	}
	t, err := m.read(ctx, a.User)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(t.jobs, func(j job) bool {
		return j.path == wanted.path && j.cmd == wanted.cmd &&
			slices.Equal(events(j.mask), events(wanted.mask))
	})
	if at < 0 {
		return "absent", nil
	}
	t.jobs = slices.Delete(t.jobs, at, at+1)
	return m.commit(ctx, a.User, t, "removed")
}

// rm is incron.rm_job.
//
// CLI Example:
//
//	salt '*' incron.rm root '/root' 'IN_MODIFY' 'echo "$$ $@ $# $% $&"'
func (m *module) rm(ctx context.Context, a jobArgs) (any, error) { return m.rmJob(ctx, a) }
