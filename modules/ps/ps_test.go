//go:build linux

package ps

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

const statLine = "7 (my (odd) name) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 10 20 20 0 3 0 1000 104857600 256 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 25 0 0 0 0 0 0 0 0 0 0\n"

func files() map[string]string {
	return map[string]string{
		"proc/stat": "cpu  100 20 30 400 50 6 7 8 0 0\ncpu0 60 10 10 200 50 6 7 8 0 0\ncpu1 40 10 20 200 0 0 0 0 0 0\nbtime 1700000000\n",
		"proc/meminfo": "MemTotal: 1000 kB\nMemFree: 200 kB\nMemAvailable: 600 kB\n" +
			"Buffers: 50 kB\nCached: 300 kB\nSReclaimable: 20 kB\nActive: 1 kB\n" +
			"Inactive: 2 kB\nShmem: 3 kB\nSlab: 4 kB\nSwapTotal: 100 kB\nSwapFree: 75 kB\n",
		"proc/vmstat":        "pswpin 1\npswpout 2\n",
		"proc/filesystems":   "nodev\tproc\n\text4\n",
		"proc/self/mounts":   "proc /proc proc rw 0 0\n/dev/vda1 /my\\040disk ext4 rw,noatime 0 0\n",
		"proc/net/dev":       "Inter-|\n face |\n  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n    lo: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n",
		"proc/diskstats":     " 253 0 vda 1 2 3 4 5 6 7 8 9 10 11\n 253 1 vda1 1 1 1 1 1 1 1 1 1 1 1\n",
		"sys/block/vda/size": "1",
		"proc/7/stat":        statLine,
		"proc/7/cmdline":     "/bin/my\x00-x\x00",
		"proc/7/status":      "Name:\tmy\nUid:\t0\t0\t0\t0\nGid:\t5\t5\t5\t5\nvoluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t4\n",
		"proc/7/statm":       "25600 256 100 10 0 50 0\n",
		"proc/7/io":          "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n",
		"proc/7/fdinfo/1":    "pos:\t17\nflags:\t0100001\nmnt_id:\t1\n",
		"proc/7/fdinfo/2":    "pos:\t0\nflags:\t0102001\n",
		"proc/7/fdinfo/3":    "pos:\t5\nflags:\t0100002\n",
		"proc/7/fdinfo/10":   "pos:\t0\nflags:\t02100000\n",
		"proc/7/net/tcp": "sl local\n 0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 " +
			"00:00000000 00000000 106 0 901 1\n 1: 0200000A:0016 0100000A:D431 01 00000000:00000000 " +
			"02:0 0 0 0 902 2\n 2: 0200000A:0016 0100000A:D432 01 00000000:00000000 02:0 0 0 0 999 2\n",
		"proc/7/net/udp6": "sl local\n 0: 000000FD000000000000000001000000:0044 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 903 2\n",
		"proc/7/smaps": "55d0-55d1 r--p 00000000 fe:00 18500                      /bin/my " +
			"odd\nSize: 4 kB\nRss: 4 kB\nPss: 2 kB\nShared_Clean: 4 kB\nShared_Dirty: 0 kB\n" +
			"Private_Clean: 0 kB\nPrivate_Dirty: 0 kB\nReferenced: 0 kB\nAnonymous: 0 kB\n" +
			"Swap: 0 kB\nVmFlags: rd mr\n55d1-55d2 rw-p 00001000 fe:00 18500                      " +
			"/bin/my odd\nSize: 8 kB\nRss: 8 kB\nPss: 8 kB\nShared_Clean: 0 kB\n" +
			"Shared_Dirty: 0 kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: 8 kB\nReferenced: 8 kB\n" +
			"Anonymous: 8 kB\nSwap: 1 kB\nVmFlags: rd mr\n7f00-7f01 rw-p 00000000 00:00 0 \n" +
			"Size: 16 kB\nRss: 0 kB\nPss: 0 kB\nShared_Clean: 0 kB\nShared_Dirty: 0 kB\n" +
			"Private_Clean: 0 kB\nPrivate_Dirty: 0 kB\nReferenced: 0 kB\nAnonymous: 0 kB\n" +
			"Swap: 0 kB\nVmFlags: rd mr\n",
		"proc/7/smaps_rollup": "55d0-7f01 ---p 00000000 00:00 0      [rollup]\nRss: 12 kB\nPss: 10 kB\nPss_Dirty: 7 kB\nPrivate_Clean: 3 kB\nPrivate_Dirty: 8 kB\nPrivate_Hugetlb: 1 kB\nSwap: 1 kB\nSwapPss: 9 kB\n",
		"proc/7/environ":      "A=1\x00B=x=y\x00",
		"proc/7/task/7/stat":  statLine,
		"proc/8/stat": strings.Replace(strings.Replace(statLine, "7 (my (odd) name) S",
			"8 (other) Z", 1), "150", "151", 1),
		"etc/passwd":          "root:x:0:0::/root:/bin/sh\n",
		"my disk/placeholder": "",
	}
}

func system(t testing.TB, files map[string]string) *loader.Registry {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		at := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755),
			os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"0": "/dev/null", "1": "/etc/passwd",
		"2": "/etc/passwd", "3": "/etc/passwd", "4": "socket:[901]",
		"5": "socket:[902]", "6": "socket:[903]", "7": "/no/file", "8": "pipe:[5]", "10": "/etc/passwd"} {
		dir := filepath.Join(root, "proc/7/fd")
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.Symlink(to, filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	type words struct {
		Args   []any     `args:"args"`
		Kwargs *data.Map `kwargs:"kwargs"`
	}
	run := func(_ context.Context, a words) (any, error) {
		return data.Str(a.Args[0]) + "\nann 7 vi a b\nroot 8 salt-call ps.psaux vi\n", nil
	}
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap(), Root: root}, []loader.Plugin{Plugin(),
		{Name: "cmd", New: func(*loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{loader.F("run", run)}}, nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAnswers compares with the answers of Salt 3006.0 with psutil 5.9 for the same files.
func TestAnswers(t *testing.T) {
	r := system(t, files())
	for _, tt := range []struct {
		fun    string
		args   []any
		kwargs *data.Map
		want   string
	}{
		{"get_pid_list", nil, nil, "[7, 8]"},
		{"num_cpus", nil, nil, "2"},
		{"boot_time", nil, nil, "1700000000"},
		{"boot_time", []any{int64(1)}, nil,
			"ERROR Invalid format string: strftime() argument 1 must be str, not int"},
		{"cpu_times", nil, nil, "{'user': 1.0, 'nice': 0.2, 'system': 0.3, 'idle': 4.0, 'iowait': 0.5, 'irq': 0.06, 'softirq': 0.07, 'steal': 0.08, 'guest': 0.0, 'guest_nice': 0.0}"},
		{"cpu_percent", []any{0.0}, nil, "0.0"},
		{"cpu_percent", []any{0.0, true}, nil, "[0.0, 0.0]"},
		{"virtual_memory", nil, nil, "{'total': 1024000, 'available': 614400, 'percent': 40.0, " +
			"'used': 440320, 'free': 204800, 'active': 1024, 'inactive': 2048, 'buffers': 51200, " +
			"'cached': 327680, 'shared': 3072, 'slab': 4096}"},
		{"total_physical_memory", nil, nil, "1024000"},
		{"swap_memory", nil, nil, "{'total': 102400, 'used': 25600, 'free': 76800, 'percent': 25.0, 'sin': 4096, 'sout': 8192}"},
		{"disk_partitions", nil, nil, "[{'device': '/dev/vda1', 'mountpoint': '/my disk', 'fstype': 'ext4', 'opts': 'rw,noatime', 'maxfile': 255, 'maxpath': 4096}]"},
		{"network_io_counters", nil, nil,
			"{'bytes_sent': 10, 'bytes_recv': 2, 'packets_sent': 11, 'packets_recv': 3, 'errin': 4, 'errout': 12, 'dropin': 5, 'dropout': 13}"},
		{"network_io_counters", []any{"lo"}, nil,
			"{'bytes_sent': 1, 'bytes_recv': 1, 'packets_sent': 1, 'packets_recv': 1, 'errin': 1, 'errout': 1, 'dropin': 1, 'dropout': 1}"},
		{"network_io_counters", []any{"eth9"}, nil, "False"},
		{"disk_io_counters", nil, nil,
			"{'read_count': 1, 'write_count': 5, 'read_bytes': 1536, 'write_bytes': 3584, 'read_time': 4, 'write_time': 8, 'read_merged_count': 2, 'write_merged_count': 6, 'busy_time': 10}"},
		{"disk_io_counters", []any{"vda1"}, nil,
			"{'read_count': 1, 'write_count': 1, 'read_bytes': 512, 'write_bytes': 512, 'read_time': 1, 'write_time': 1, 'read_merged_count': 1, 'write_merged_count': 1, 'busy_time': 1}"},
		{"disk_io_counters", []any{"sdz"}, nil, "False"},
		{"get_users", nil, nil, "[]"},
		{"proc_info", []any{int64(7), []any{"pid", "ppid", "name", "cmdline", "status", "username",
			"uids", "gids", "nice", "num_threads", "cpu_times", "create_time", "num_ctx_switches",
			"io_counters", "environ", "threads", "terminal"}}, nil,
			"{'pid': 7, 'ppid': 1, 'name': 'my (odd) name', 'cmdline': ['/bin/my', '-x'], " +
				"'status': 'sleeping', 'username': 'root', 'uids': [0, 0, 0], 'gids': [5, 5, 5], 'nice': " +
				"0, 'num_threads': 3, 'cpu_times': [1.5, 0.5, 0.1, 0.2, 0.25], 'create_time': " +
				"1700000010.0, 'num_ctx_switches': [3, 4], 'io_counters': [3, 4, 5, 6, 1, 2], 'environ': " +
				"{'A': '1', 'B': 'x=y'}, 'threads': [[7, 1.5, 0.5]], 'terminal': None}"},
		{"proc_info", []any{int64(7), []any{"open_files", "num_fds", "memory_full_info",
			"memory_maps"}}, nil, "{'open_files': [['/etc/passwd', 1, 17, " +
			"'w', 32769], ['/etc/passwd', 2, 0, 'a', 33793], ['/etc/passwd', 3, 5, 'r+', 32770], " +
			"['/etc/passwd', 10, 0, 'r', 557056]], 'num_fds': 10, 'memory_full_info': [1048576, " +
			"104857600, 409600, 40960, 0, 204800, 0, 12288, 10240, 1024], 'memory_maps': [['/bin/my " +
			"odd', 12288, 12288, 10240, 4096, 0, 0, 8192, 8192, 8192, 1024], ['[anon]', 0, 16384, 0, " +
			"0, 0, 0, 0, 0, 0, 0]]}"},
		{"proc_info", []any{int64(7), []any{"connections"}}, nil, "{'connections': [[4, 2, 1, " +
			"['127.0.0.1', 3306], [], 'LISTEN'], [5, 2, 1, ['10.0.0.2', 22], ['10.0.0.1', 54321], " +
			"'ESTABLISHED'], [6, 10, 2, ['fd00::1', 68], [], 'NONE']]}"},
		{"proc_info", []any{int64(7), []any{"ionice"}}, nil, "{'ionice': None}"},
		{"proc_info", []any{int64(9)}, nil, "ERROR process PID not found (pid=9)"},
		{"proc_info", []any{int64(7), []any{"nope"}}, nil, "ERROR invalid attr name 'nope'"},
		{"pgrep", []any{"odd"}, nil, "[7]"},
		{"pgrep", []any{"bin/my"}, data.NewMap("full", true, "user", "root"), "[7]"},
		{"pgrep", []any{"^o.*r$"}, data.NewMap("pattern_is_regex", true), "[8]"},
		{"pgrep", []any{"nosuch"}, nil, "None"},
		{"pkill", []any{"nosuch"}, nil, "None"},
		{"pkill", []any{""}, nil, "ERROR ps.pkill: the pattern is empty and would match every process"},
		{"kill_pid", []any{int64(-1)}, nil, "False"},
		{"status", []any{"zombie"}, nil, "[{'pid': 8, 'name': 'other'}]"},
		{"status", []any{""}, nil, "ERROR Filter is required for ps.status"},
		{"psaux", []any{"v."}, nil, "['v.', ['ann 7 vi a b'], '1 occurence(s).']"},
		{"lsof", []any{"x"}, nil, "['x', 'lsof -c x\\nann 7 vi a b\\nroot 8 salt-call ps.psaux vi\\n']"},
	} {
		for range 2 {
			v, err := r.Invoke(t.Context(), "ps."+tt.fun, tt.args, tt.kwargs)
			got := data.Repr(v)
			if err != nil {
				got = "ERROR " + err.Error()
			}
			if got != tt.want {
				t.Errorf("%s %v gives %s\nwant %s", tt.fun, tt.args, got, tt.want)
			}
		}
	}
}

func TestTopAndUsage(t *testing.T) {
	r := system(t, files())
	bin := t.TempDir()
	for _, name := range []string{"ss", "netstat"} {
		if err := os.WriteFile(filepath.Join(bin, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	for range 2 {
		v, err := r.Invoke(t.Context(), "ps.top", []any{int64(1), 0.0}, nil)
		if list, _ := v.([]any); err != nil || len(list) != 1 ||
			!strings.HasPrefix(data.Repr(list[0]),
				"{'cmd': ['/bin/my', '-x'], 'user': 'root', 'status': 'sleeping', 'pid': 7, ") {
			t.Errorf("top: %s, %v", data.Repr(v), err)
		}
		v, err = r.Invoke(t.Context(), "ps.disk_partition_usage", nil, nil)
		if list, _ := v.([]any); err != nil || len(list) != 1 || !list[0].(*data.Map).Has("percent") {
			t.Errorf("disk_partition_usage: %s, %v", data.Repr(v), err)
		}
		for _, fun := range []string{"ss", "netstat"} {
			if v, err := r.Invoke(t.Context(), "ps."+fun, []any{"vi a"}, nil); err != nil ||
				data.Repr(v) != "['vi a', ['ann 7 vi a b']]" {
				t.Errorf("%s: %s, %v", fun, data.Repr(v), err)
			}
		}
	}
}

// TestKills finds a process of this host by its command line, shows it and kills it.
func TestKills(t *testing.T) {
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap()}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	mark := filepath.Base(t.TempDir()) + "-brine-ps"
	for range 2 {
		cmd := exec.Command("/bin/sh", "-c", "read x; : "+mark)
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		pid := int64(cmd.Process.Pid)
		var found any
		for found == nil { // until the program has replaced its copy of this one
			if found, err = r.Invoke(t.Context(), "ps.pgrep", []any{mark},
				data.NewMap("full", true, "user", me.Username)); err != nil {
				t.Fatal(err)
			}
		}
		if list, _ := found.([]any); !slices.Contains(list, any(pid)) {
			t.Errorf("pgrep: %v, want %d", found, pid)
		}
		if v, err := r.Invoke(t.Context(), "ps.proc_info", []any{pid}, nil); err != nil ||
			v.(*data.Map).Value("pid") != pid || v.(*data.Map).Len() != 30 {
			t.Errorf("proc_info: %s, %v", data.Repr(v), err)
		}
		if v, err := r.Invoke(t.Context(), "ps.pkill", []any{mark},
			data.NewMap("full", true, "signal", int64(9))); err != nil ||
			data.Repr(v) != "{'killed': ["+data.Str(pid)+"]}" {
			t.Errorf("pkill: %s, %v", data.Repr(v), err)
		}
		if err := cmd.Wait(); err == nil {
			t.Error("it was not killed")
		}
		if v, err := r.Invoke(t.Context(), "ps.kill_pid", []any{pid}, nil); err != nil || v != false {
			t.Errorf("kill_pid of one that is gone: %v, %v", v, err)
		}
	}
}

// FuzzFiles reads malformed files of /proc.
func FuzzFiles(f *testing.F) {
	for _, text := range files() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parseStat(text)
		logins([]byte(text))
		all := map[string]string{}
		for name := range files() {
			all[name] = text
		}
		all["proc/7/stat"] = statLine
		r := system(t, all)
		for _, fun := range []string{"cpu_times", "virtual_memory", "swap_memory",
			"disk_partitions", "network_io_counters", "disk_io_counters", "boot_time", "num_cpus"} {
			_, _ = r.Invoke(t.Context(), "ps."+fun, nil, nil) // it must not panic
		}
		if _, err := r.Invoke(t.Context(), "ps.proc_info", []any{int64(7)}, nil); err != nil {
			t.Error(err)
		}
		if _, err := r.Invoke(t.Context(), "ps.pgrep", []any{"x"}, nil); err != nil {
			t.Error(err)
		}
	})
}
