//go:build linux

package status

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// loadavg returns the load averages of the last one, five and fifteen minutes.
//
// CLI Example:
//
//	salt '*' status.loadavg
func (m *module) loadavg(context.Context, loader.NoArgs) (any, error) {
	if s := (unix.Sysinfo_t{}); m.env.Root == "" && unix.Sysinfo(&s) == nil { // more precise
		const one = 1 << 16
		return data.NewMap("1-min", float64(s.Loads[0])/one, "5-min", float64(s.Loads[1])/one,
			"15-min", float64(s.Loads[2])/one), nil
	}
	text, _ := m.read("/proc/loadavg")
	words := strings.Fields(text)
	if len(words) < 3 {
		return nil, loader.Execution("status.loadavag is not available on your platform")
	}
	all := data.NewMap()
	for i, name := range []string{"1-min", "5-min", "15-min"} {
		f, err := strconv.ParseFloat(words[i], 64)
		if err != nil {
			return nil, loader.Execution("read /proc/loadavg: %w", err)
		}
		all.Set(name, f)
	}
	return all, nil
}

// uptime returns since when the system has been running and how many users are logged in.
//
// CLI Example:
//
//	salt '*' status.uptime
func (m *module) uptime(ctx context.Context, _ loader.NoArgs) (any, error) {
	text, ok := m.read("/proc/uptime")
	words := strings.Fields(text)
	if !ok || len(words) == 0 {
		return nil, loader.Execution("File /proc/uptime was not found.")
	}
	f, err := strconv.ParseFloat(words[0], 64)
	if err != nil || f < 0 || f > 1e10 {
		return nil, loader.Execution("/proc/uptime does not begin with a number of seconds: %q",
			words[0])
	}
	seconds := int64(f)
	now := time.Now()
	boot := now.Add(-time.Duration(seconds) * time.Second).UTC()
	all := data.NewMap("seconds", seconds,
		"since_iso", boot.Truncate(time.Microsecond).Format("2006-01-02T15:04:05.000000"),
		"since_t", boot.Unix(), "days", seconds/86400, "time",
		strconv.FormatInt(seconds%86400/3600, 10)+":"+
			strconv.FormatInt(seconds%3600/60, 10))
	if process.Find("who") == "" {
		return all, nil
	}
	out, err := m.run(ctx, "who -s", calls.CmdDecides)
	if err != nil {
		return nil, err
	}
	all.Set("users", int64(len(strings.Split(out, "\n"))))
	return all, nil
}

type usageArgs struct {
	Args []any `args:"args"`
}

// diskusage returns the total and the free size of file systems in bytes, by mount point. Arguments
// are mount points, and globs of file system types.
//
// CLI Example:
//
//	salt '*' status.diskusage
//	salt '*' status.diskusage / ext4 'xfs*'
func (m *module) diskusage(_ context.Context, a usageArgs) (any, error) {
	var paths, types []string
	for _, v := range a.Args {
		if s := data.Str(v); strings.HasPrefix(s, "/") {
			paths = append(paths, s)
		} else {
			types = append(types, s)
		}
	}
	if len(a.Args) == 0 {
		types = []string{"*"}
	}
	if _, ok := m.read("/proc/mounts"); !ok && len(types) > 0 {
		return data.NewMap(), nil
	}
	m.table("/proc/mounts", func(_ string, words []string) {
		fits := func(t string) bool { return len(words) > 2 && match.CompileGlob(t).Match(words[2]) }
		if slices.ContainsFunc(types, fits) && !slices.Contains(paths, words[1]) {
			paths = append(paths, words[1])
		}
	})
	all := data.NewMap()
	for _, path := range paths {
		var s unix.Statfs_t
		if err := unix.Statfs(filepath.Join(m.env.Root, path), &s); err != nil {
			return nil, loader.OSError(&os.PathError{Op: "statvfs", Path: path, Err: err})
		}
		size := s.Bsize
		all.Set(path, data.NewMap("available", int64(s.Bavail)*int64(size),
			"total", int64(s.Blocks)*int64(size)))
	}
	return all, nil
}

// nproc returns the number of processors that the minion may use.
//
// CLI Example:
//
//	salt '*' status.nproc
func (m *module) nproc(ctx context.Context, _ loader.NoArgs) (any, error) {
	out, err := m.run(ctx, "nproc", calls.CmdDecides)
	return number(strings.TrimSpace(out)), err
}

// w returns the logged-in users and their processes.
//
// CLI Example:
//
//	salt '*' status.w
func (m *module) w(ctx context.Context, _ loader.NoArgs) (any, error) {
	out, err := m.run(ctx, "w -fh", calls.CmdDecides)
	if err != nil {
		return nil, err
	}
	users := []any{}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) < 6 {
			continue
		}
		users = append(users, data.NewMap("idle", words[3], "jcpu", words[4], "login", words[2],
			"pcpu", words[5], "tty", words[1], "user", words[0],
			"what", strings.Join(words[6:], " ")))
	}
	return users, nil
}

// procs returns the user and the command of each process, by process ID.
//
// CLI Example:
//
//	salt '*' status.procs
func (m *module) procs(ctx context.Context, _ loader.NoArgs) (any, error) {
	out, err := m.run(ctx, m.env.GrainsNow().Text("ps"), calls.InShell)
	if err != nil {
		return nil, err
	}
	all := data.NewMap()
	var headings []string
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if headings == nil {
			headings = words
			continue
		}
		user, pid, cmd := column(headings, "USER", "UID"), column(headings, "PID"), column(headings,
			"COMMAND", "CMD")
		if max(user, pid, cmd) < len(words) {
			all.Set(words[pid], data.NewMap("user", words[user],
				"cmd", strings.Join(words[cmd:], " ")))
		}
	}
	return all, nil
}

// column returns the index of the first column that has one of the names, 0 if there is none.
func column(headings []string, names ...string) int {
	for _, name := range names {
		if i := slices.Index(headings, name); i >= 0 {
			return i
		}
	}
	return 0
}

type pidArgs struct{ Sig string }

// pid returns the IDs of the processes whose line in ps matches a regular expression, one on each
// line.
//
// sig
//
//	The regular expression.
//
// CLI Example:
//
//	salt '*' status.pid <sig>
func (m *module) pid(ctx context.Context, a pidArgs) (any, error) {
	fits, err := match.CompileRegexp(`[\s\S]*?(?:` + a.Sig + `)`)
	if err != nil {
		return nil, loader.Exception("re.error", "%w", err)
	}
	out, err := calls.RunStdout(ctx, m.env,
		calls.Run{Line: m.env.GrainsNow().Text("ps"), Shell: calls.InShell})
	if err != nil {
		return nil, err
	}
	own := strconv.Itoa(os.Getpid())
	var pids []string
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) > 1 && !strings.Contains(line, own) &&
			fits.Match(strings.TrimSuffix(line, "\n")) {
			pids = append(pids, words[1])
		}
	}
	return strings.Join(pids, "\n"), nil
}

type timeArgs struct {
	Format string `default:"'%A, %d. %B %Y %I:%M%p'"`
}

// time returns the current time in a format of strftime.
//
// CLI Example:
//
//	salt '*' status.time
//	salt '*' status.time '%s'
func (m *module) time(_ context.Context, a timeArgs) (any, error) {
	return logging.Strftime(a.Format, time.Now()), nil
}
