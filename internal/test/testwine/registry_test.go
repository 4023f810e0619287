//go:build linux

package testwine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/testwine"
)

func registryFunctions(t *testing.T, h *testwine.Host) {
	const key = `SOFTWARE\Brine\Test`
	values := []struct {
		name, kind string
		data       any
		read       string
	}{
		{"text", "REG_SZ", "grüße", "grüße"},
		{"path", "REG_EXPAND_SZ", `%TEMP%\x`, `%TEMP%\x`},
		{"number", "REG_DWORD", 4294967295, "4.294967295e+09"},
		{"long", "REG_QWORD", 1 << 40, "1.099511627776e+12"},
		{"list", "REG_MULTI_SZ", []any{"a", "b c"}, "[a b c]"},
	}
	var calls []testwine.Call
	for _, v := range values {
		calls = append(calls,
			testwine.Call{Fun: "reg.set_value", Args: []any{"HKLM", key, v.name, v.data, v.kind}},
			testwine.Call{Fun: "reg.read_value", Args: []any{"HKEY_LOCAL_MACHINE", key, v.name}})
	}
	results := h.Batch(t, calls...)
	for i, v := range values {
		if done := results[2*i]; done != true {
			t.Errorf("set %s: %v", v.name, done)
		}
		got := results[2*i+1]
		if fmt.Sprint(field(got, "vdata")) != v.read || field(got, "vtype") != v.kind || field(got, "success") != true {
			t.Errorf("read %s: %v", v.name, got)
		}
	}
	check(t, h, []expected{
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
		{"reg.set_value", []any{"HKLM", key + `\below`, "a", "b"}, "true"},
		{"reg.delete_key_recursive", []any{"HKLM", key},
			`map[Deleted:[HKLM\SOFTWARE\Brine\Test\below HKLM\SOFTWARE\Brine\Test] Failed:[]]`},
	})
	if _, errs := h.Try(t, "reg.key_exists", "HKXX", key); !strings.Contains(errs, "Invalid Hive: HKXX") {
		t.Errorf("a wrong hive: %s", errs)
	}
}

// An expected is a call with its result in Go's form.
type expected struct {
	fun  string
	args []any
	want string
}

func check(t *testing.T, h *testwine.Host, table []expected) {
	t.Helper()
	var calls []testwine.Call
	for _, e := range table {
		calls = append(calls, testwine.Call{Fun: e.fun, Args: e.args})
	}
	for i, v := range h.Batch(t, calls...) {
		if e := table[i]; fmt.Sprint(v) != e.want {
			t.Errorf("%s %v: %v, want %s", e.fun, e.args, v, e.want)
		}
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

func registryState(t *testing.T, h *testwine.Host) {
	for _, s := range registryStates {
		would := only(t, apply(t, h, s.sls, "test=True"))
		if field(would, "result") != nil || !strings.Contains(fmt.Sprint(field(would, "changes")), s.would) {
			t.Errorf("%s in test mode: %v", s.sls, would)
		}
		done := only(t, apply(t, h, s.sls))
		if field(done, "result") != true || field(done, "comment") != s.comment ||
			!strings.Contains(fmt.Sprint(field(done, "changes")), s.done) {
			t.Errorf("%s: %v", s.sls, done)
		}
		again := only(t, apply(t, h, s.sls))
		if field(again, "result") != true || field(again, "comment") != s.same ||
			len(asMap(field(again, "changes"))) != 0 {
			t.Errorf("%s again: %v", s.sls, again)
		}
	}
}

// only returns the one result of a run.
func only(t *testing.T, results map[string]any) any {
	t.Helper()
	for _, v := range results {
		return v
	}
	t.Fatal("no state has run")
	return nil
}

func services(t *testing.T, h *testwine.Host) {
	const name = "brine-test"
	check(t, h, []expected{
		{"service.available", []any{"eventlog"}, "true"},
		{"service.missing", []any{name}, "true"},
		{"service.status", []any{name}, "Not Found"},
		{"service.delete", []any{name}, "true"},
	})
	made := h.Batch(t, testwine.Call{Fun: "service.create", Args: []any{name, `C:\windows\system32\none.exe`},
		Kw: map[string]any{"exe_args": "-a b", "display_name": "Brine's test", "start_type": "auto"}})[0]
	for key, want := range map[string]any{"BinaryPath": `"C:\windows\system32\none.exe" -a b`,
		"DisplayName": "Brine's test", "StartType": "Auto", "Status": "Stopped", "ErrorControl": "Normal"} {
		if field(made, key) != want {
			t.Errorf("%s of a new service is %v, want %v\n%v", key, field(made, key), want, made)
		}
	}
	if _, errs := h.Try(t, "service.create", name, `C:\x.exe`); !strings.Contains(errs, "Service Already Exists: "+name) {
		t.Errorf("a second service of the name: %s", errs)
	}
	if _, errs := h.Try(t, "service.modify", name, "start_type=never"); !strings.Contains(errs, "Invalid Start Type: never") {
		t.Errorf("a wrong type of start: %s", errs)
	}
	check(t, h, []expected{
		{"service.enabled", []any{name}, "true"},
		{"service.disable", []any{name}, "true"},
		{"service.disabled", []any{name}, "true"},
		{"service.status", []any{name}, "false"},
		{"service.enable", []any{name}, "true"},
		{"service.get_service_name", []any{name}, "map[Brine's test:" + name + "]"},
		{"service.delete", []any{name}, "true"},
		{"service.missing", []any{name}, "true"},
	})
}

// environment sets variables that outlast the minion.
func environment(t *testing.T, h *testwine.Host) {
	const system = `SYSTEM\CurrentControlSet\Control\Session Manager\Environment`
	set := func(value, permanent any) testwine.Call {
		return testwine.Call{Fun: "environ.setval", Args: []any{"BRINE_TEST", value},
			Kw: map[string]any{"permanent": permanent, "false_unsets": true}}
	}
	read := func(hive, key string) testwine.Call {
		return testwine.Call{Fun: "reg.read_value", Args: []any{hive, key, "BRINE_TEST"}}
	}
	v := h.Batch(t, set("one", false), read("HKCU", "Environment"),
		testwine.Call{Fun: "cmd.run", Args: []any{"echo %BRINE_TEST%"}, Kw: map[string]any{"python_shell": true}},
		set("two", true), read("HKCU", "Environment"), set("three", "HKLM"), read("HKLM", system),
		set(false, "HKLM"), read("HKLM", system))
	for i, want := range map[int]any{0: "one", 2: "one"} {
		if v[i] != want {
			t.Errorf("result %d is %v, want %v", i, v[i], want)
		}
	}
	for i, want := range map[int]any{1: nil, 4: "two", 6: "three", 8: nil} {
		if now := field(v[i], "vdata"); now != want {
			t.Errorf("the variable in the registry is %v at %d, want %v", now, i, want)
		}
	}
}

func programPath(t *testing.T, h *testwine.Host) {
	was := fmt.Sprint(h.Call(t, "win_path.get_path"))
	for _, s := range []struct {
		sls, mode string
		result    any
		comment   string
		changes   string
		first     bool // the directory is the first one then
	}{
		{"path", "test", nil, `C:\tools would be added to the PATH at index 0.`, "map[index:map[new:0 old:<nil>]]", false},
		{"path", "", true, `Added C:\tools to the PATH at index 0.`, "map[index:map[new:0 old:<nil>]]", true},
		{"path", "", true, `C:\tools already exists in the PATH at index 0.`, "map[]", true},
		{"nopath", "test", nil, `C:\tools would be removed from the PATH`, "map[]", true},
		{"nopath", "", true, `Removed C:\tools from the PATH`, `map[removed:C:\tools]`, false},
		{"nopath", "", true, `C:\tools is not in the PATH`, "map[]", false},
	} {
		var ret any
		if s.mode == "test" {
			ret = only(t, apply(t, h, s.sls, "test=True"))
		} else {
			ret = only(t, apply(t, h, s.sls))
		}
		if field(ret, "result") != s.result || field(ret, "comment") != s.comment ||
			fmt.Sprint(field(ret, "changes")) != s.changes {
			t.Errorf("%s %s: %v", s.sls, s.mode, ret)
		}
		dirs := fmt.Sprint(h.Call(t, "win_path.get_path"))
		if strings.HasPrefix(dirs, `[C:\tools `) != s.first {
			t.Errorf("%s %s: the PATH is %s", s.sls, s.mode, dirs)
		}
	}
	if now := fmt.Sprint(h.Call(t, "win_path.get_path")); now != was {
		t.Errorf("the PATH is %s, and was %s", now, was)
	}
}
