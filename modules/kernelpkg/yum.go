package kernelpkg

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Yum returns the module kernelpkg for systems with YUM or DNF.
func Yum() loader.Plugin {
	return loader.Plugin{Name: "kernelpkg", File: "kernelpkg_linux_yum",
		New: func(env *loader.Env) (*loader.Module, error) {
			grains := env.GrainsNow()
			known := []string{"amazon", "xcp", "xenserver", "virtuozzolinux"}
			if grains.Text("os_family") == "RedHat" || slices.Contains(known,
				strings.ToLower(grains.Text("os"))) {
				return (&module{env, yum{env}}).functions(), nil
			}
			//nolint:staticcheck // Salt's text
			return nil, errors.New("Module kernelpkg_linux_yum: no YUM based system detected")
		}}
}

// yum has one package, kernel, of which several versions can be installed.
type yum struct{ env *loader.Env }

const kernel = "kernel"

func (s yum) installed(ctx context.Context) ([]string, error) {
	v, err := loader.CallAs[any](ctx, s.env, "pkg.version", []any{kernel},
		data.NewMap("versions_as_list", true))
	if err != nil || !data.Truth(v) {
		return nil, err
	}
	if text, ok := v.(string); ok {
		return []string{text}, nil
	}
	return data.TextsOf(v), nil
}

func (s yum) available(ctx context.Context) (string, error) {
	return loader.CallAs[string](ctx, s.env, "pkg.latest_version", []any{kernel}, nil)
}

func (s yum) upgrade(ctx context.Context) (any, error) {
	return s.env.Call(ctx, "pkg.upgrade", nil, data.NewMap("name", kernel))
}

// remove runs the package manager itself: the module pkg knows no names with a version.
func (s yum) remove(ctx context.Context, name string) error {
	old, err := loader.CallAs[*data.Map](ctx, s.env, "pkg.list_pkgs", nil, nil)
	if err != nil {
		return err
	}
	program := "yum"
	for _, name := range []string{"dnf5", "dnf", "tdnf"} {
		if process.Find(name) != "" {
			program = name
			break
		}
	}
	command, err := packages.Scoped(ctx, s.env, "salt.loaded.int.module.kernelpkg_linux_yum",
		[]any{program, "-y", "remove", name})
	if err != nil {
		return err
	}
	ran, err := calls.RunAll(ctx, s.env, calls.Run{Argv: data.Texts(command), Log: "trace"})
	if err != nil || ran.Retcode == 0 {
		return err
	}
	left, err := loader.CallAs[*data.Map](ctx, s.env, "pkg.list_pkgs", nil, nil)
	if err != nil {
		return err
	}
	return loader.ExecutionInfo("Error occurred removing package(s)",
		data.NewMap("errors", []any{ran.Stderr}, "changes", changes(old, left)))
}

// changes returns the packages that differ between two lists.
func changes(old, left *data.Map) *data.Map {
	all := &data.Map{}
	for name, version := range old.All() {
		switch now, ok := left.Get(name); {
		case !ok:
			all.Set(name, data.NewMap("old", version, "new", ""))
		case !data.Equal(now, version):
			all.Set(name, data.NewMap("old", version, "new", now))
		}
	}
	for name, version := range left.All() {
		if !old.Has(name) {
			all.Set(name, data.NewMap("old", "", "new", version))
		}
	}
	return all
}

func (s yum) pkg(release string) string { return kernel + "-" + release }
