//go:build linux

package status

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// programs returns the output of programs on a Debian system with Salt 3006.0.
func programs(command string) string {
	return map[string]string{
		"w -fh":  "root     tty1      10:02   1:07   0.05s  0.01s -bash\nann      pts/0     10:10   3.00s  0.02s  0.02s vi a b\n",
		"nproc":  "2",
		"who -s": "root     tty1         2026-11-22 10:02\nann      pts/0        2026-11-22 10:10",
		"ps -ef": "UID          PID    PPID  C STIME TTY          TIME CMD\nroot           1       0  0 10:00 ?        00:00:01 /sbin/init splash\nann         4711       1  0 10:00 ?        00:00:01 vi a b\n",
	}[command]
}

// system returns a registry that uses the files of a system.
func system(t testing.TB, files map[string]string, conf *data.Map) *loader.Registry {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		at := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755),
			os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	type words struct {
		Args   []any     `args:"args"`
		Kwargs *data.Map `kwargs:"kwargs"`
	}
	run := func(_ context.Context, a words) (any, error) { return programs(data.Str(a.Args[0])), nil }
	others := []loader.Plugin{Plugin(),
		{Name: "cmd", New: func(*loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{loader.F("run", run),
				loader.F("run_stdout", run)}}, nil
		}},
		{Name: "config", New: func(*loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{
				loader.F("dot_vals", func(context.Context, words) (any, error) { return conf, nil }),
				loader.F("get", func(_ context.Context, a words) (any, error) { return a.Kwargs.Value("default"), nil }),
			}}, nil
		}}}
	env := &loader.Env{Opts: data.NewMap("auth_timeout", int64(1)), Root: root,
		Grains: func() *data.Map { return data.NewMap("ps", "ps -ef") }}
	r, err := loader.NewRegistry(env, others)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func files() map[string]string {
	return map[string]string{
		"proc/stat":        "cpu  10 2 3 4 5 6 7 8 0 0\ncpu0 10 2 3 4 5 6 7 8 0 0\nintr 9 1 2\nctxt 77\nbtime 1700000000\nsoftirq 5 3 2\n",
		"proc/meminfo":     "MemTotal:        2048 kB\nHugePages_Total:       0\n",
		"proc/cpuinfo":     "processor\t: 0\nflags\t\t: fpu vme\nbugs\t\t:\n",
		"proc/diskstats":   " 253       0 vda 1 2 3 4 5 6 7 8 9 10 11 0 0 0 0\nbroken\n",
		"proc/vmstat":      "nr_free_pages 12\n",
		"proc/net/netstat": "TcpExt: A B C\nTcpExt: 1 2 3\nIpExt: X Y\nIpExt: 4 5\n",
		"proc/net/dev":     "Inter-|   Receive\n face |bytes\n  eth0:999 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n    lo: 1 2 3\n",
		"proc/version":     "Linux version 6.1\n",
		"proc/loadavg":     "0.10 0.20 0.30 1/2 3\n",
		"proc/mounts":      "/dev/vda1 / ext4 rw 0 0\n",
	}
}

// TestAnswers compares with the answers of Salt 3006.0 for the same files.
func TestAnswers(t *testing.T) {
	r := system(t, files(), data.NewMap("status.cpustats.custom", []any{"ctxt", "none"}))
	for _, tt := range []struct {
		fun  string
		args []any
		want string
	}{
		{"cpustats", nil, "{'cpu': {'user': 10, 'nice': 2, 'system': 3, 'idle': 4, 'iowait': 5, " +
			"'irq': 6, 'softirq': 7, 'steal': 8}, 'cpu0': 10, 'intr': {'total': 9, 'irqs': [1, 2]}, " +
			"'ctxt': 77, 'btime': 1700000000, 'softirq': {'total': 5, 'softirqs': [3, 2]}}"},
		{"meminfo", nil, "{'MemTotal': {'value': '2048', 'unit': 'kB'}, 'HugePages_Total': {'value': '0'}}"},
		{"cpuinfo", nil, "{'processor': '0', 'flags': ['fpu', 'vme'], 'bugs': ''}"},
		{"diskstats", nil, "{'vda': {'major': 253, 'minor': 0, 'device': 'vda', 'reads_issued': " +
			"1, 'reads_merged': 2, 'sectors_read': 3, 'ms_spent_reading': 4, 'writes_completed': 5, " +
			"'writes_merged': 6, 'sectors_written': 7, 'ms_spent_writing': 8, 'io_in_progress': 9, " +
			"'ms_spent_in_io': 10, 'weighted_ms_spent_in_io': 11}}"},
		{"vmstats", nil, "{'nr_free_pages': 12}"},
		{"netstats", nil, "{'TcpExt': {'A': 1, 'B': 2}, 'IpExt': {'X': 4}}"},
		{"netdev", nil, "{'eth0': {'iface': 'eth0', 'rx_bytes': 999, 'rx_packets': 1, 'rx_errs': " +
			"2, 'rx_drop': 3, 'rx_fifo': 4, 'rx_frame': 5, 'rx_compressed': 6, 'rx_multicast': 7, " +
			"'tx_bytes': 8, 'tx_packets': 9, 'tx_errs': 10, 'tx_drop': 11, 'tx_fifo': 12, 'tx_colls': " +
			"13, 'tx_carrier': 14, 'tx_compressed': 15}}"},
		{"version", nil, "'Linux version 6.1'"},
		{"loadavg", nil, "{'1-min': 0.1, '5-min': 0.2, '15-min': 0.3}"},
		{"nproc", nil, "2"},
		{"w", nil, "[{'idle': '1:07', 'jcpu': '0.05s', 'login': '10:02', 'pcpu': '0.01s', 'tty': " +
			"'tty1', 'user': 'root', 'what': '-bash'}, {'idle': '3.00s', 'jcpu': '0.02s', 'login': " +
			"'10:10', 'pcpu': '0.02s', 'tty': 'pts/0', 'user': 'ann', 'what': 'vi a b'}]"},
		{"procs", nil, "{'1': {'user': 'root', 'cmd': '/sbin/init splash'}, '4711': {'user': 'ann', 'cmd': 'vi a b'}}"},
		{"pid", []any{"vi|init"}, "'1\\n4711'"},
		{"pid", []any{"nosuch"}, "''"},
		{"custom", nil, "{'ctxt': 77, 'none': 'UNKNOWN'}"},
		{"master", nil, "None"},
		{"ping_master", []any{""}, "False"},
		{"proxy_reconnect", []any{"p"}, "False"},
		{"time", []any{"%%"}, "'%'"},
		{"diskusage", []any{"nosuchfs"}, "{}"},
	} {
		for range 2 {
			got, err := r.Invoke(t.Context(), "status."+tt.fun, tt.args, nil)
			if err != nil || data.Repr(got) != tt.want {
				t.Errorf("%s %v gives %s, %v\nwant %s", tt.fun, tt.args, data.Repr(got), err, tt.want)
			}
		}
	}
}

func TestUptimeAndSizes(t *testing.T) {
	all := files()
	all["proc/uptime"] = "93784.55 1.00\n"
	r := system(t, all, nil)
	for range 2 {
		v, err := r.Invoke(t.Context(), "status.uptime", nil, nil)
		up, _ := v.(*data.Map)
		if err != nil || up.Value("seconds") != int64(93784) || up.Value("days") != int64(1) ||
			up.Value("time") != "2:3" || len(up.Text("since_iso")) != 26 {
			t.Errorf("uptime: %s, %v", data.Repr(v), err)
		}
		v, err = r.Invoke(t.Context(), "status.diskusage", nil, nil)
		root, _ := v.(*data.Map).Value("/").(*data.Map)
		total, _ := root.Value("total").(int64)
		free, _ := root.Value("available").(int64)
		if err != nil || total <= 0 || free > total {
			t.Errorf("diskusage: %s, %v", data.Repr(v), err)
		}
		whole, err := r.Invoke(t.Context(), "status.all_status", nil, nil)
		if m, ok := whole.(*data.Map); err != nil || !ok || m.Len() != 11 {
			t.Errorf("all_status: %s, %v", data.Repr(whole), err)
		}
	}
	empty := system(t, nil, nil)
	if _, err := empty.Invoke(t.Context(), "status.uptime", nil, nil); err == nil ||
		err.Error() != "File /proc/uptime was not found." {
		t.Errorf("without a file: %v", err)
	}
	if v, err := empty.Invoke(t.Context(), "status.meminfo", nil, nil); err != nil || data.Repr(v) != "{}" {
		t.Errorf("meminfo without a file: %v, %v", v, err)
	}
}

// bus records the tags of events.
type bus struct {
	loader.Bus // for the methods that the tests do not use
	told       *[]string
}

func (b bus) Fire(_ context.Context, tag string, _ *data.Map) error {
	*b.told = append(*b.told, tag)
	return nil
}

func TestMaster(t *testing.T) {
	all := files()
	all["proc/net/tcp"] = "  sl  local_address rem_address   st\n   0: 0100007F:B2A6 0100007F:1199 01\n   1: 0100007F:B2A6 0200007F:1199 06\n"
	r := system(t, all, nil)
	var told []string
	env := *r.Env()
	env.Functions, env.Call = nil, nil
	env.Host.Bus = bus{told: &told}
	r = r.With(&env)
	for master, want := range map[string]bool{"127.0.0.1": true, "127.0.0.2": false} {
		if got, err := r.Invoke(t.Context(), "status.master", []any{master}, nil); err != nil || got != want {
			t.Errorf("master %s: %v, %v", master, got, err)
		}
	}
	if _, err := r.Invoke(t.Context(), "status.master", []any{"127.0.0.1", false},
		nil); err != nil || strings.Join(told, " ") != "__master_disconnected __master_connected" {
		t.Errorf("told %v, %v", told, err)
	}
}

// FuzzTables reads malformed files of /proc.
func FuzzTables(f *testing.F) {
	for _, text := range files() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all := map[string]string{"proc/uptime": text, "proc/net/tcp": text, "proc/mounts": ""}
		for name := range files() {
			if name != "proc/mounts" {
				all[name] = text
			}
		}
		r := system(t, all, nil)
		for _, fun := range []string{"cpustats", "meminfo", "cpuinfo", "diskstats", "vmstats",
			"netstats", "netdev", "version", "loadavg", "uptime"} {
			if _, err := r.Invoke(t.Context(), "status."+fun, nil, nil); err != nil &&
				loader.KindOf(err) != loader.KindExecution {
				t.Errorf("%s: %v", fun, err)
			}
		}
	})
}
