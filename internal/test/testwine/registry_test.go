//go:build linux

package testwine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testwine"
)

func registryFunctions(t *testing.T, _ *testwine.Host, m *testwine.Minion) {
	const key = `SOFTWARE\Brine\Test`
	for _, v := range []struct {
		name, kind string
		data       any
		read       any
	}{
		{"text", "REG_SZ", "grüße", "grüße"},
		{"path", "REG_EXPAND_SZ", `%TEMP%\x`, `%TEMP%\x`},
		{"number", "REG_DWORD", int64(4294967295), int64(4294967295)},
		{"long", "REG_QWORD", int64(1) << 40, int64(1) << 40},
		{"list", "REG_MULTI_SZ", []any{"a", "b c"}, "[a b c]"},
	} {
		if done := m.Call(t, "reg.set_value", "HKLM", key, v.name, v.data, v.kind); done != true {
			t.Errorf("set %s: %v", v.name, done)
		}
		got := m.Call(t, "reg.read_value", "HKEY_LOCAL_MACHINE", key, v.name)
		value := field(got, "vdata")
		if v.kind == "REG_MULTI_SZ" {
			value = fmt.Sprint(value)
		}
		if value != v.read || field(got, "vtype") != v.kind || field(got, "success") != true {
			t.Errorf("read %s: %v", v.name, got)
		}
	}
	for _, tt := range []struct {
		fun  string
		args []any
		want string
	}{
		{"reg.key_exists", []any{"HKLM", key}, "true"},
		{"reg.key_exists", []any{"HKLM", key + `\none`}, "false"},
		{"reg.value_exists", []any{"HKLM", key, "text"}, "true"},
		{"reg.value_exists", []any{"HKLM", key, "none"}, "false"},
		{"reg.value_exists", []any{"HKLM", key, nil}, "true"},
		{"reg.list_keys", []any{"HKLM", `SOFTWARE\Brine`}, "[Test]"},
		{"reg.list_keys", []any{"HKLM", `SOFTWARE\none`}, `[false Cannot find key: HKLM\SOFTWARE\none]`},
		{"reg.delete_value", []any{"HKLM", key, "text"}, "true"},
		{"reg.delete_value", []any{"HKLM", key, "text"}, "<nil>"},
		{"reg.delete_key_recursive", []any{"HKLM", "SOFTWARE"}, "false"},
		{"reg.key_exists", []any{"HKXX", key}, "Invalid Hive: HKXX"},
	} {
		if v := fmt.Sprint(m.Call(t, tt.fun, tt.args...)); !strings.Contains(v, tt.want) {
			t.Errorf("%s %v: %s, want %s", tt.fun, tt.args, v, tt.want)
		}
	}
	if n := len(m.Call(t, "reg.list_values", "HKLM", key).([]any)); n != 4 {
		t.Errorf("%d values, want 4", n)
	}
	m.Call(t, "reg.set_value", "HKLM", key+`\below`, "a", "b")
	gone := m.Call(t, "reg.delete_key_recursive", "HKLM", `SOFTWARE\Brine\Test`)
	if want := `[HKLM\SOFTWARE\Brine\Test\below HKLM\SOFTWARE\Brine\Test]`; fmt.Sprint(field(gone, "Deleted")) != want {
		t.Errorf("deleted %v, want %s", gone, want)
	}
}

// registryStates are applied in test mode, and then twice.
var registryStates = []struct {
	sls     string
	would   string // the words of changes in test mode, and when it is done
	done    string
	comment string
	same    string
}{
	{"regset", "Will add", "Added", `Added version to HKCU\SOFTWARE\Brine`,
		`version in HKCU\SOFTWARE\Brine is already present`},
	{"regunset", "Will remove", "Removed", `Removed SOFTWARE\Brine from HKCU`, `HKCU\SOFTWARE\Brine is already absent`},
	{"reggone", "Will remove", "Removed", `Removed HKCU\SOFTWARE\Brine`, `HKCU\SOFTWARE\Brine is already absent`},
}

func registryState(t *testing.T, _ *testwine.Host, m *testwine.Minion) {
	for _, s := range registryStates {
		would := only(t, apply(t, m, s.sls, kw("test", true)))
		if field(would, "result") != nil || !strings.Contains(data.Repr(field(would, "changes")), s.would) {
			t.Errorf("%s in test mode: %v", s.sls, would)
		}
		done := only(t, apply(t, m, s.sls))
		if field(done, "result") != true || field(done, "comment") != s.comment ||
			!strings.Contains(data.Repr(field(done, "changes")), s.done) {
			t.Errorf("%s: %v", s.sls, done)
		}
		again := only(t, apply(t, m, s.sls))
		if field(again, "result") != true || field(again, "comment") != s.same ||
			field(again, "changes").(*data.Map).Len() != 0 {
			t.Errorf("%s again: %v", s.sls, again)
		}
	}
}

// only returns the one result of a run.
func only(t *testing.T, results *data.Map) any {
	t.Helper()
	for _, v := range results.All() {
		return v
	}
	t.Fatal("no state has run")
	return nil
}

func services(t *testing.T, h *testwine.Host, m *testwine.Minion) {
	const name = "brine-test"
	for _, tt := range []struct {
		fun  string
		args []any
		want string
	}{
		{"service.available", []any{"eventlog"}, "true"},
		{"service.missing", []any{name}, "true"},
		{"service.status", []any{name}, "Not Found"},
		{"service.delete", []any{name}, "true"},
		{"service.info", []any{name}, "Failed To Open " + name},
	} {
		if v := fmt.Sprint(m.Call(t, tt.fun, tt.args...)); !strings.Contains(v, tt.want) {
			t.Errorf("%s %v: %s, want %s", tt.fun, tt.args, v, tt.want)
		}
	}
	made := m.Call(t, "service.create", name, `C:\windows\system32\none.exe`, kw("exe_args", "-a b"),
		kw("display_name", "Brine's test"), kw("start_type", "auto"))
	for key, want := range map[string]any{"BinaryPath": `"C:\windows\system32\none.exe" -a b`,
		"DisplayName": "Brine's test", "StartType": "Auto", "Status": "Stopped", "ErrorControl": "Normal"} {
		if field(made, key) != want {
			t.Errorf("%s of a new service is %v, want %v\n%v", key, field(made, key), want, made)
		}
	}
	for _, tt := range []struct {
		fun  string
		args []any
		want string
	}{
		{"service.create", []any{name, `C:\x.exe`}, "Service Already Exists: " + name},
		{"service.enabled", []any{name}, "true"},
		{"service.disable", []any{name}, "true"},
		{"service.disabled", []any{name}, "true"},
		{"service.status", []any{name}, "false"},
		{"service.modify", []any{name, kw("start_type", "never")}, "Invalid Start Type: never"},
		{"service.enable", []any{name}, "true"},
		{"service.get_service_name", []any{name}, "Brine's test"},
		{"service.delete", []any{name}, "true"},
		{"service.missing", []any{name}, "true"},
	} {
		if v := fmt.Sprint(m.Call(t, tt.fun, tt.args...)); !strings.Contains(v, tt.want) {
			t.Errorf("%s %v: %s, want %s", tt.fun, tt.args, v, tt.want)
		}
	}
}

// environment sets variables that outlast the minion.
func environment(t *testing.T, _ *testwine.Host, m *testwine.Minion) {
	read := func(hive, key string) any {
		return field(m.Call(t, "reg.read_value", hive, key, "BRINE_TEST"), "vdata")
	}
	const system = `SYSTEM\CurrentControlSet\Control\Session Manager\Environment`
	if v := m.Call(t, "environ.setval", "BRINE_TEST", "one"); v != "one" || read("HKCU", "Environment") != nil {
		t.Errorf("a variable of the process is %v, in the registry %v", v, read("HKCU", "Environment"))
	}
	if v := m.Call(t, "cmd.run", "echo %BRINE_TEST%"); v != "one" {
		t.Errorf("a program reads %v", v)
	}
	m.Call(t, "environ.setval", "BRINE_TEST", "two", kw("permanent", true))
	m.Call(t, "environ.setenv", data.NewMap("BRINE_TEST", "three"), kw("permanent", "HKLM"))
	if user, all := read("HKCU", "Environment"), read("HKLM", system); user != "two" || all != "three" {
		t.Errorf("the variable of the user is %v, of the system %v", user, all)
	}
	m.Call(t, "environ.setval", "BRINE_TEST", false, kw("false_unsets", true), kw("permanent", "HKLM"))
	if v := read("HKLM", system); v != nil {
		t.Errorf("a removed variable is %v", v)
	}
}

func programPath(t *testing.T, _ *testwine.Host, m *testwine.Minion) {
	was := fmt.Sprint(m.Call(t, "win_path.get_path"))
	for _, s := range []struct {
		sls, mode string
		result    any
		comment   string
		changes   string
		first     bool // the directory is the first one then
	}{
		{"path", "test", nil, `C:\tools would be added to the PATH at index 0.`, "{'index': {'old': None, 'new': 0}}", false},
		{"path", "", true, `Added C:\tools to the PATH at index 0.`, "{'index': {'old': None, 'new': 0}}", true},
		{"path", "", true, `C:\tools already exists in the PATH at index 0.`, "{}", true},
		{"nopath", "test", nil, `C:\tools would be removed from the PATH`, "{}", true},
		{"nopath", "", true, `Removed C:\tools from the PATH`, `{'removed': 'C:\\tools'}`, false},
		{"nopath", "", true, `C:\tools is not in the PATH`, "{}", false},
	} {
		var ret any
		if s.mode == "test" {
			ret = only(t, apply(t, m, s.sls, kw("test", true)))
		} else {
			ret = only(t, apply(t, m, s.sls))
		}
		if field(ret, "result") != s.result || field(ret, "comment") != s.comment ||
			data.Repr(field(ret, "changes")) != s.changes {
			t.Errorf("%s %s: %v", s.sls, s.mode, ret)
		}
		dirs := fmt.Sprint(m.Call(t, "win_path.get_path"))
		if strings.HasPrefix(dirs, `[C:\tools `) != s.first {
			t.Errorf("%s %s: the PATH is %s", s.sls, s.mode, dirs)
		}
	}
	if now := fmt.Sprint(m.Call(t, "win_path.get_path")); now != was {
		t.Errorf("the PATH is %s, and was %s", now, was)
	}
}

// itself lets the service manager run a second minion.
func itself(t *testing.T, h *testwine.Host, m *testwine.Minion) {
	const name = "brine-minion"
	h.Write(t, `C:\salt\service\minion`, strings.Replace(h.Read(t, testwine.Config+`\minion`), "id: win", "id: service", 1)+
		`pki_dir: C:\salt\service\pki
cachedir: C:\salt\service\cache
pidfile: C:\salt\service\pid
log_file: C:\salt\service\log
`)
	m.Call(t, "service.create", name, h.Program("salt-minion"), kw("exe_args", `-c C:\salt\service`))
	if v := m.Call(t, "service.start", name); v != true {
		t.Fatalf("start: %v", v)
	}
	m.Of("service").Await(t)
	if v := m.Call(t, "service.status", name); v != true {
		t.Errorf("the status of a running service is %v", v)
	}
	if v := m.Call(t, "service.stop", name); v != true {
		t.Errorf("stop: %v", v)
	}
	if v := m.Call(t, "service.status", name); v != false {
		t.Errorf("the status of a stopped service is %v", v)
	}
	if code := field(m.Call(t, "service.info", name), "Status_ExitCode"); code != "No Error" {
		t.Errorf("the service ends with %v", code)
	}
}
