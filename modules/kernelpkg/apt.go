package kernelpkg

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Apt returns the module kernelpkg for systems with APT.
func Apt() loader.Plugin {
	return loader.Plugin{Name: "kernelpkg", File: "kernelpkg_linux_apt",
		New: func(env *loader.Env) (*loader.Module, error) {
			switch env.GrainsNow().Text("os_family") {
			case "Kali", "Debian", "Cumulus":
				return (&module{env, apt{env}}).functions(), nil
			}
			//nolint:staticcheck // Salt's text
			return nil, errors.New("Module kernelpkg_linux_apt: no APT based system detected")
		}}
}

// apt has a package for each kernel, such as linux-image-4.4.0-70-generic, and one that depends on the
// latest, such as linux-image-generic.
type apt struct{ env *loader.Env }

const image = "linux-image-"

// kind returns the kind of the running kernel, such as generic.
func (s apt) kind(ctx context.Context) (string, error) {
	release, err := running(ctx, s.env)
	if err != nil {
		return "", err
	}
	kind := regexp.MustCompile(`^[\d.-]+-(.+)$`).FindStringSubmatch(release)
	if kind == nil {
		return "", loader.Execution("the release of the running kernel has no kind: %s", release)
	}
	return kind[1], nil
}

func (s apt) installed(ctx context.Context) ([]string, error) {
	kind, err := s.kind(ctx)
	if err != nil {
		return nil, err
	}
	all, err := loader.CallAs[*data.Map](ctx, s.env, "pkg.list_pkgs", nil,
		data.NewMap("versions_as_list", true))
	if err != nil {
		return nil, err
	}
	name := regexp.MustCompile(`^` + image + `[\d.-]+-` + regexp.QuoteMeta(kind) + `$`)
	var releases []string
	for key := range all.All() {
		if text := data.Str(key); name.MatchString(text) {
			releases = append(releases, strings.TrimPrefix(text, image))
		}
	}
	return releases, nil
}

func (s apt) available(ctx context.Context) (string, error) {
	kind, err := s.kind(ctx)
	if err != nil {
		return "", err
	}
	version, err := loader.CallAs[string](ctx, s.env, "pkg.latest_version", []any{image + kind}, nil)
	if err != nil || version == "" {
		return "", err
	}
	parts := regexp.MustCompile(`^(\d+\.\d+\.\d+)\.(\d+)`).FindStringSubmatch(version)
	if parts == nil {
		return "", loader.Execution("the version of %s does not name a release: %s", image+kind, version)
	}
	return parts[1] + "-" + parts[2] + "-" + kind, nil
}

func (s apt) upgrade(ctx context.Context) (any, error) {
	m := &module{s.env, s}
	release, err := m.newest(ctx)
	if err != nil {
		return nil, err
	}
	return s.env.Call(ctx, "pkg.install", nil, data.NewMap("name", s.pkg(release)))
}

func (s apt) remove(ctx context.Context, name string) error {
	_, err := s.env.Call(ctx, "pkg.purge", []any{name}, nil)
	return err
}

func (s apt) pkg(release string) string { return image + release }
