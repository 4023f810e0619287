// Package reg is Salt's state reg: values and keys of the registry of Windows (salt/states/reg.py).
//
// Difference from Salt: owners and access control lists of keys are not managed. A state with
// win_owner, win_perms, win_deny_perms or win_perms_reset fails before it changes anything.
package reg

import (
	"context"
	"errors"
	"runtime"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state reg.
func Plugin() loader.Plugin { return loader.Plugin{Name: "reg", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if runtime.GOOS != "windows" {
		return nil, errors.New("reg state module failed to load: only available on Windows")
	}
	return statesOf(env), nil
}

func statesOf(env *loader.Env) *loader.Module {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent),
		loader.F("key_absent", m.keyAbsent),
		loader.F("present", m.present),
	}}
}

type presentArgs struct {
	Name             string
	Vname            any    `default:"None"`
	Vdata            any    `default:"None"`
	Vtype            string `default:"'REG_SZ'"`
	Use32bitRegistry bool   `name:"use_32bit_registry" default:"False"`
	WinOwner         any    `default:"None"`
	WinPerms         any    `default:"None"`
	WinDenyPerms     any    `default:"None"`
	WinInheritance   any    `default:"True"`
	WinPermsReset    bool   `default:"False"`
}

// present writes a value of a key, and makes the key if it does not exist.
//
// vname, vdata, vtype
//
//	The name of the value, the default one if it is missing; its data; its type, such as REG_SZ or
//	REG_DWORD.
//
// use_32bit_registry
//
//	Use the part of the registry for programs of 32 bits.
//
//	HKEY_CURRENT_USER\SOFTWARE\Salt:
//	  reg.present:
//	    - vname: version
//	    - vdata: 0.15.3
func (m *module) present(ctx context.Context, a presentArgs) (any, error) {
	if data.Truth(a.WinOwner) || data.Truth(a.WinPerms) || data.Truth(a.WinDenyPerms) ||
		a.WinPermsReset || a.WinInheritance != true {
		return change.Failed(a.Name, "Owners and permissions of registry keys are not supported"), nil
	}
	p := parse(a.Name, a.Use32bitRegistry)
	wanted, err := m.env.Call(ctx, "reg.cast_vdata", []any{a.Vdata, a.Vtype}, nil)
	if err != nil {
		return nil, err
	}
	now, err := m.read(ctx, p, a.Vname)
	if err != nil {
		return nil, err
	}
	name := entry(a.Vname)
	if now.Value("success") == true && data.Equal(now.Value("vdata"), wanted) {
		return change.Unchanged(a.Name, name+" in "+a.Name+" is already present"), nil
	}
	added := data.NewMap("Key", p.path(), "Entry", name, "Value", wanted, "Owner", nil,
		"Perms", data.NewMap("Grant", nil, "Deny", nil), "Inheritance", true)
	if change.Test(ctx) {
		return change.Would(a.Name, data.NewMap("reg", data.NewMap("Will add", added)),
			"Will add "+data.Str(a.Vname)+" to "+p.path()), nil
	}
	done, err := m.env.Call(ctx, "reg.set_value", []any{p.hive, p.key, a.Vname, a.Vdata, a.Vtype},
		data.NewMap("use_32bit_registry", p.use32))
	if err != nil {
		return nil, err
	}
	if done != true {
		return change.Failed(a.Name, "Failed to add "+data.Str(a.Vname)+" to "+p.path()), nil
	}
	return change.New(a.Name, true, data.NewMap("reg", data.NewMap("Added", added)),
		"Added "+data.Str(a.Vname)+" to "+p.path()), nil
}

type absentArgs struct {
	Name             string
	Vname            any  `default:"None"`
	Use32bitRegistry bool `name:"use_32bit_registry" default:"False"`
}

// absent removes a value of a key.
//
// vname
//
//	The name of the value, the default one if it is missing.
//
//	HKEY_CURRENT_USER\SOFTWARE\Salt:
//	  reg.absent:
//	    - vname: version
func (m *module) absent(ctx context.Context, a absentArgs) (any, error) {
	p := parse(a.Name, a.Use32bitRegistry)
	now, err := m.read(ctx, p, a.Vname)
	if err != nil {
		return nil, err
	}
	if now.Value("success") != true || now.Value("vdata") == "(value not set)" {
		return change.Unchanged(a.Name, a.Name+" is already absent"), nil
	}
	removed := data.NewMap("Key", p.path(), "Entry", entry(a.Vname))
	if change.Test(ctx) {
		return change.Would(a.Name, data.NewMap("reg", data.NewMap("Will remove", removed)),
			"Will remove "+data.Str(a.Vname)+" to "+p.path()), nil // Salt's text
	}
	done, err := m.env.Call(ctx, "reg.delete_value", []any{p.hive, p.key, a.Vname},
		data.NewMap("use_32bit_registry", p.use32))
	if err != nil {
		return nil, err
	}
	if !data.Truth(done) {
		return change.Failed(a.Name, "Failed to remove "+p.key+" from "+p.hive), nil
	}
	return change.New(a.Name, true, data.NewMap("reg", data.NewMap("Removed", removed)),
		"Removed "+p.key+" from "+p.hive), nil
}

type keyAbsentArgs struct {
	Name             string
	Use32bitRegistry bool `name:"use_32bit_registry" default:"False"`
}

// keyAbsent removes a key and all below it.
//
//	HKEY_CURRENT_USER\SOFTWARE\DeleteMe:
//	  reg.key_absent: []
func (m *module) keyAbsent(ctx context.Context, a keyAbsentArgs) (any, error) {
	p := parse(a.Name, a.Use32bitRegistry)
	now, err := m.read(ctx, p, nil)
	if err != nil {
		return nil, err
	}
	if now.Value("success") != true {
		return change.Unchanged(a.Name, a.Name+" is already absent"), nil
	}
	removed := data.NewMap("Key", p.path())
	if change.Test(ctx) {
		return change.Would(a.Name, data.NewMap("reg", data.NewMap("Will remove", removed)),
			"Will remove "+p.path()), nil
	}
	if _, err := m.env.Call(ctx, "reg.delete_key_recursive", []any{p.hive, p.key},
		data.NewMap("use_32bit_registry", p.use32)); err != nil {
		return nil, err
	}
	if now, err = m.read(ctx, p, nil); err != nil {
		return nil, err
	}
	if now.Value("success") == true {
		return change.Failed(a.Name, "Failed to remove registry key "+a.Name), nil
	}
	return change.New(a.Name, true, data.NewMap("reg", data.NewMap("Removed", removed)),
		"Removed "+p.path()), nil
}

// A place is a key in the registry.
type place struct {
	hive, key string
	use32     bool
}

func parse(name string, use32 bool) place {
	hive, key, _ := strings.Cut(name, `\`)
	return place{hive, key, use32}
}

func (p place) path() string { return p.hive + `\` + p.key }

// entry returns the name of a value in results.
func entry(vname any) string {
	if !data.Truth(vname) {
		return "(Default)"
	}
	return data.Str(vname)
}

func (m *module) read(ctx context.Context, p place, vname any) (*data.Map, error) {
	return loader.CallAs[*data.Map](ctx, m.env, "reg.read_value", []any{p.hive, p.key, vname},
		data.NewMap("use_32bit_registry", p.use32))
}
