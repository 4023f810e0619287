// Package reg is Salt's module reg: it reads and writes the registry of Windows
// (salt/modules/reg.py and salt/utils/win_reg.py).
//
// Differences from Salt: a value whose type and data do not fit is an error and not a traceback. A
// hive may be written in small letters.
package reg

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module reg.
func Plugin() loader.Plugin { return loader.Plugin{Name: "reg", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if runtime.GOOS != "windows" {
		return nil, errors.New("reg execution module failed to load: " +
			"The module will only run on Windows systems")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("broadcast_change", m.broadcastChange),
		loader.F("cast_vdata", castVdata),
		loader.F("delete_key_recursive", m.deleteKeyRecursive),
		loader.F("delete_value", m.deleteValue),
		loader.F("import_file", m.importFile),
		loader.F("key_exists", m.keyExists),
		loader.F("list_keys", m.listKeys),
		loader.F("list_values", m.listValues),
		loader.F("read_value", m.readValue),
		loader.F("set_value", m.setValue),
		loader.F("value_exists", m.valueExists),
	}}, nil
}

// The errors of the registry that functions report in their results.
var (
	errMissing = errors.New("does not exist")
	errDenied  = errors.New("access is denied")
)

// A place is a key in the registry.
type place struct {
	hive string // in capitals, such as HKLM
	key  string
	wide bool // the part of the registry for programs of 64 bits, and not that for those of 32
}

// A value is the data of a value of the registry with its type, such as REG_SZ.
type value struct {
	name, kind string
	data       any // string, []any of strings, int64, []byte or nil
}

// roots are the hives by their names, the short form first.
var roots = map[string]string{
	"HKCC": "HKCC", "HKCR": "HKCR", "HKCU": "HKCU", "HKLM": "HKLM", "HKU": "HKU",
	"HKEY_CURRENT_CONFIG": "HKCC", "HKEY_CLASSES_ROOT": "HKCR", "HKEY_CURRENT_USER": "HKCU",
	"HKEY_LOCAL_MACHINE": "HKLM", "HKEY_USERS": "HKU",
}

func placeOf(hive, key any, use32 bool) (place, error) {
	root, ok := roots[strings.ToUpper(data.Str(hive))]
	if !ok {
		return place{}, loader.Execution("Invalid Hive: %s", data.Str(hive))
	}
	return place{root, text(key), !use32}, nil
}

// text returns the text of an argument; None is empty.
func text(v any) string {
	if v == nil {
		return ""
	}
	return data.Str(v)
}

const defaultName = "(Default)"

type keyArgs struct {
	Hive             string
	Key              any
	Use32bitRegistry bool `name:"use_32bit_registry" default:"False"`
}

func (a keyArgs) place() (place, error) { return placeOf(a.Hive, a.Key, a.Use32bitRegistry) }

type optionalKeyArgs struct {
	Hive             string
	Key              any  `default:"None"`
	Use32bitRegistry bool `name:"use_32bit_registry" default:"False"`
}

type nameArgs struct {
	Hive             string
	Key              any
	Vname            any
	Use32bitRegistry bool `name:"use_32bit_registry" default:"False"`
}

type valueArgs struct {
	Hive             string
	Key              any
	Vname            any  `default:"None"`
	Use32bitRegistry bool `name:"use_32bit_registry" default:"False"`
}

// keyExists reports whether a key exists.
//
// CLI Example:
//
//	salt '*' reg.key_exists HKLM SOFTWARE\Microsoft
func (m *module) keyExists(_ context.Context, a keyArgs) (any, error) {
	p, err := a.place()
	if err != nil {
		return nil, err
	}
	return p.exists()
}

func (p place) exists() (bool, error) {
	_, err := p.subkeys()
	switch {
	case errors.Is(err, errMissing):
		return false, nil
	case errors.Is(err, errDenied): // it exists all the same
		return true, nil
	}
	return err == nil, err
}

// valueExists reports whether a key has a value. None stands for the default value, which each key
// has.
//
// CLI Example:
//
//	salt '*' reg.value_exists HKLM SOFTWARE\Microsoft\Windows\CurrentVersion CommonFilesDir
func (m *module) valueExists(_ context.Context, a nameArgs) (any, error) {
	p, err := placeOf(a.Hive, a.Key, a.Use32bitRegistry)
	if err != nil {
		return nil, err
	}
	_, err = p.read(text(a.Vname))
	if err == nil || !errors.Is(err, errMissing) || a.Vname != nil {
		return err == nil, nil
	}
	return p.exists()
}

// broadcastChange tells all windows that settings have changed, and reports whether all took it.
//
// CLI Example:
//
//	salt '*' reg.broadcast_change
func (m *module) broadcastChange(context.Context, loader.NoArgs) (any, error) {
	return broadcast("Environment"), nil
}

// listKeys returns the names of the keys below a key, or False and a text if there is no such key.
//
// CLI Example:
//
//	salt '*' reg.list_keys HKLM 'SOFTWARE'
func (m *module) listKeys(_ context.Context, a optionalKeyArgs) (any, error) {
	p, err := placeOf(a.Hive, a.Key, a.Use32bitRegistry)
	if err != nil {
		return nil, err
	}
	names, err := p.subkeys()
	if err != nil {
		return refused(a.Hive, a.Key, err)
	}
	return data.Values(names), nil
}

// refused returns the result for a key that cannot be read.
func refused(hive string, key any, err error) (any, error) {
	switch {
	case errors.Is(err, errMissing):
		return data.Tuple{false, `Cannot find key: ` + hive + `\` + data.Str(key)}, nil
	case errors.Is(err, errDenied):
		return data.Tuple{false, `Access is denied: ` + hive + `\` + data.Str(key)}, nil
	}
	return nil, err
}

// listValues returns the values of a key with their names, types and data, or False and a text if
// there is no such key.
//
// CLI Example:
//
//	salt '*' reg.list_values HKLM 'SYSTEM\\CurrentControlSet\\Services\\Tcpip'
func (m *module) listValues(_ context.Context, a optionalKeyArgs) (any, error) {
	p, err := placeOf(a.Hive, a.Key, a.Use32bitRegistry)
	if err != nil {
		return nil, err
	}
	values, err := p.values()
	if err != nil {
		return refused(a.Hive, a.Key, err)
	}
	list := []any{}
	for _, v := range values {
		name := v.name
		if name == "" {
			name = defaultName
		}
		list = append(list, data.NewMap("hive", a.Hive, "key", text(a.Key), "vname", name,
			"vtype", v.kind, "success", true, "vdata", v.data))
	}
	return list, nil
}

// readValue returns a value of a key with its type and data, and whether it exists as success.
// Without vname it is the default value.
//
// CLI Example:
//
//	salt '*' reg.read_value HKEY_LOCAL_MACHINE 'SOFTWARE\Salt' 'version'
func (m *module) readValue(_ context.Context, a valueArgs) (any, error) {
	p, err := placeOf(a.Hive, a.Key, a.Use32bitRegistry)
	if err != nil {
		return nil, err
	}
	name := text(a.Vname)
	ret := data.NewMap("hive", a.Hive, "key", text(a.Key), "vname", name, "vdata", nil, "vtype", nil,
		"success", true)
	if name == "" {
		ret.Set("vname", defaultName)
	}
	v, err := p.read(name)
	switch {
	case err == nil && v.data == nil:
		ret.Set("comment", "Empty Value")
		return ret, nil
	case err == nil:
		ret.Set("vdata", v.data)
		ret.Set("vtype", v.kind)
		return ret, nil
	case !errors.Is(err, errMissing) && !errors.Is(err, errDenied):
		return nil, err
	}
	there, known := p.exists()
	switch {
	case errors.Is(err, errDenied):
		ret.Set("comment", `Access is denied: `+a.Hive+`\`+text(a.Key))
	case known != nil:
		return nil, known
	case !there:
		ret.Set("comment", `Cannot find key: `+a.Hive+`\`+text(a.Key))
	case a.Vname == nil:
		ret.Set("vdata", "(value not set)")
		ret.Set("vtype", "REG_SZ")
		return ret, nil
	default:
		ret.Set("comment", "Cannot find "+name+" in "+a.Hive+`\`+text(a.Key))
	}
	ret.Set("success", false)
	return ret, nil
}

type setValueArgs struct {
	Hive             string
	Key              any
	Vname            any    `default:"None"`
	Vdata            any    `default:"None"`
	Vtype            string `default:"'REG_SZ'"`
	Use32bitRegistry bool   `name:"use_32bit_registry" default:"False"`
	Volatile         bool   `default:"False"`
}

// setValue writes a value, and makes its key if it does not exist. The result is False if the system
// refuses that.
//
// vtype : REG_SZ
//
//	REG_BINARY, REG_DWORD, REG_EXPAND_SZ, REG_MULTI_SZ, REG_QWORD or REG_SZ. The data of
//	REG_MULTI_SZ are a list.
//
// volatile : False
//
//	A new key is lost when the system restarts.
//
// CLI Example:
//
//	salt '*' reg.set_value HKEY_LOCAL_MACHINE 'SOFTWARE\\Salt' 'version' '2015.5.2'
func (m *module) setValue(_ context.Context, a setValueArgs) (any, error) {
	p, err := placeOf(a.Hive, a.Key, a.Use32bitRegistry)
	if err != nil {
		return nil, err
	}
	content, err := cast(a.Vdata, a.Vtype)
	if err != nil {
		return nil, err
	}
	if err := p.write(value{text(a.Vname), a.Vtype, content}, a.Volatile); err != nil {
		m.env.Log.WithError(err).Errorf(`set value %q of %s\%s`, text(a.Vname), a.Hive, text(a.Key))
		return false, nil
	}
	broadcast("Environment")
	return true, nil
}

type castArgs struct {
	Vdata any    `default:"None"`
	Vtype string `default:"'REG_SZ'"`
}

// castVdata returns data as a value of this type holds them.
//
// CLI Example:
//
//	salt '*' reg.cast_vdata 12 REG_DWORD
func castVdata(_ context.Context, a castArgs) (any, error) { return cast(a.Vdata, a.Vtype) }

func cast(v any, kind string) (any, error) {
	switch kind {
	case "REG_SZ", "REG_EXPAND_SZ":
		return text(v), nil
	case "REG_BINARY":
		if s, ok := v.(string); ok {
			return []byte(s), nil
		}
		if body, ok := v.([]byte); ok {
			return body, nil
		}
		return nil, loader.TypeError("the data of REG_BINARY are %s, not text or bytes", loader.TypeName(v))
	case "REG_MULTI_SZ":
		list, ok := v.([]any)
		if !ok {
			return nil, loader.TypeError("'%s' object is not iterable", loader.TypeName(v))
		}
		texts := []any{}
		for _, item := range list {
			texts = append(texts, text(item))
		}
		return texts, nil
	case "REG_DWORD", "REG_QWORD", "REG_NONE":
		n, err := loader.Int(v)
		if err == nil && kind == "REG_DWORD" && (n < -1<<31 || n >= 1<<32) {
			err = loader.Execution("%d does not fit into REG_DWORD", n)
		}
		return n, err
	}
	return nil, loader.Exception("KeyError", "%s", data.Repr(kind))
}

// deleteKeyRecursive removes a key and all below it, and returns the removed keys as Deleted and the
// others as Failed. The result is False if there is no such key, or if it is too close to the root
// of its hive.
//
// CLI Example:
//
//	salt '*' reg.delete_key_recursive HKLM SOFTWARE\\DeleteMe
func (m *module) deleteKeyRecursive(ctx context.Context, a keyArgs) (any, error) {
	p, err := a.place()
	if err != nil {
		return nil, err
	}
	there, err := p.exists()
	if err != nil || !there {
		return false, err
	}
	if p.key == "" || len(p.key) > 1 && p.hive != "HKCU" && !strings.Contains(p.key[1:], `\`) {
		m.env.Log.Errorf(`"%s\%s" is too close to root, not safe to remove`, a.Hive, p.key)
		return false, nil
	}
	ret := data.NewMap("Deleted", []any{}, "Failed", []any{})
	if err := p.removeTree(ctx, a.Hive, ret, 0); err != nil {
		return nil, err
	}
	broadcast("Environment")
	return ret, nil
}

// mostDeep limits the depth of keys. Windows has 512.
const mostDeep = 512

// removeTree removes a key after all below it.
func (p place) removeTree(ctx context.Context, hive string, ret *data.Map, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if depth > mostDeep {
		return fmt.Errorf(`remove %s\%s: it is too deep`, hive, p.key)
	}
	names, err := p.subkeys()
	for _, name := range names {
		below := place{p.hive, p.key + `\` + name, p.wide}
		if err := below.removeTree(ctx, hive, ret, depth+1); err != nil {
			return err
		}
	}
	path, list := hive+`\`+p.key, "Deleted"
	if err == nil {
		err = p.remove()
	}
	if err != nil {
		path, list = path+" "+err.Error(), "Failed"
	}
	known, _ := ret.Value(list).([]any)
	ret.Set(list, append(known, path))
	return nil
}

// deleteValue removes a value of a key. The result is None if there is no such value.
//
// CLI Example:
//
//	salt '*' reg.delete_value HKEY_CURRENT_USER 'SOFTWARE\\Salt' 'version'
func (m *module) deleteValue(_ context.Context, a valueArgs) (any, error) {
	p, err := placeOf(a.Hive, a.Key, a.Use32bitRegistry)
	if err != nil {
		return nil, err
	}
	switch err := p.drop(text(a.Vname)); {
	case errors.Is(err, errMissing):
		return nil, nil
	case err != nil:
		return nil, loader.Execution(`delete value %q of %s\%s: %w`, text(a.Vname), a.Hive, p.key, err)
	}
	broadcast("Environment")
	return true, nil
}

type importArgs struct {
	Source           string
	Use32bitRegistry bool `name:"use_32bit_registry" default:"False"`
}

// importFile imports a file of registry settings with the program reg.
//
// source
//
//	A path, or a URL that cp.cache_file knows.
//
// CLI Example:
//
//	salt machine1 reg.import_file salt://win/printer_config/110_Canon/postinstall_config.reg
func (m *module) importFile(ctx context.Context, a importArgs) (any, error) {
	path, err := calls.CacheFile(ctx, m.env, calls.Source{Path: a.Source})
	if err != nil {
		return nil, err
	}
	if path == "" {
		return nil, loader.Exception("ValueError", "File/URL '%s' probably invalid.", a.Source)
	}
	part := "/reg:64"
	if a.Use32bitRegistry {
		part = "/reg:32"
	}
	done, err := calls.RunAll(ctx, m.env, calls.Run{Argv: []string{"reg", "import", path, part}})
	if err != nil {
		return nil, err
	}
	if done.Retcode != 0 {
		return nil, loader.Execution("reg.exe import failed")
	}
	return true, nil
}
