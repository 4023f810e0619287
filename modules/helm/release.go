package helm

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type releaseArgs struct {
	Release string
	options
}

// getAll returns a text with everything about a release.
//
// CLI Example:
//
//	salt '*' helm.get_all RELEASE
func (m *module) getAll(ctx context.Context, a releaseArgs) (any, error) {
	return m.text(ctx, a.options, []string{"get", "all"}, a.Release)
}

// getHooks returns the hooks of a release.
//
// CLI Example:
//
//	salt '*' helm.get_hooks RELEASE
func (m *module) getHooks(ctx context.Context, a releaseArgs) (any, error) {
	return m.text(ctx, a.options, []string{"get", "hooks"}, a.Release)
}

// getManifest returns the manifest of a release.
//
// CLI Example:
//
//	salt '*' helm.get_manifest RELEASE
func (m *module) getManifest(ctx context.Context, a releaseArgs) (any, error) {
	return m.text(ctx, a.options, []string{"get", "manifest"}, a.Release)
}

// getNotes returns the notes of a release.
//
// CLI Example:
//
//	salt '*' helm.get_notes RELEASE
func (m *module) getNotes(ctx context.Context, a releaseArgs) (any, error) {
	return m.text(ctx, a.options, []string{"get", "notes"}, a.Release)
}

// getValues returns the values that a release was given.
//
// CLI Example:
//
//	salt '*' helm.get_values RELEASE
func (m *module) getValues(ctx context.Context, a releaseArgs) (any, error) {
	return m.value(ctx, a.options, []string{"get", "values"}, a.Release)
}

// history returns the revisions of a release.
//
// CLI Example:
//
//	salt '*' helm.history RELEASE
func (m *module) history(ctx context.Context, a releaseArgs) (any, error) {
	return m.value(ctx, a.options, []string{"history"}, a.Release)
}

// test runs the tests of a release, and returns helm's output.
//
// CLI Example:
//
//	salt '*' helm.test RELEASE
func (m *module) test(ctx context.Context, a releaseArgs) (any, error) {
	return m.text(ctx, a.options, []string{"test"}, a.Release)
}

type inArgs struct {
	Release   string
	Namespace any `default:"None"`
	options
}

// status returns the state of a release: a dictionary, or helm's error.
//
// CLI Example:
//
//	salt '*' helm.status RELEASE
func (m *module) status(ctx context.Context, a inArgs) (any, error) {
	return m.value(ctx, a.with("namespace", a.Namespace), []string{"status"}, a.Release)
}

// uninstall removes a release, and returns True or helm's error.
//
// CLI Example:
//
//	salt '*' helm.uninstall RELEASE
func (m *module) uninstall(ctx context.Context, a inArgs) (any, error) {
	return m.do(ctx, a.with("namespace", a.Namespace), []string{"uninstall"}, a.Release)
}

type rollbackArgs struct {
	Release   string
	Revision  string
	Namespace any `default:"None"`
	options
}

// rollback brings a release back to a revision, and returns True or helm's error.
//
// CLI Example:
//
//	salt '*' helm.rollback RELEASE REVISION
func (m *module) rollback(ctx context.Context, a rollbackArgs) (any, error) {
	return m.do(ctx, a.with("namespace", a.Namespace), []string{"rollback"}, a.Release, a.Revision)
}

type listArgs struct {
	Namespace any `default:"None"`
	options
}

// list returns the releases of a namespace, or of that of the kubeconfig.
//
// CLI Example:
//
//	salt '*' helm.list
func (m *module) list(ctx context.Context, a listArgs) (any, error) {
	return m.value(ctx, a.with("namespace", a.Namespace), []string{"list"})
}

type installArgs struct {
	Release   string
	Chart     string
	Values    any `default:"None"`
	Version   any `default:"None"`
	Namespace any `default:"None"`
	Set       any `default:"None"`
	options
}

// all returns all options of an installation.
func (a installArgs) all() options {
	return a.with("values", a.Values, "version", a.Version, "namespace", a.Namespace, "set", a.Set)
}

// install installs a chart as a release, and returns True or helm's error. Every user of the host can read
// the options, so secrets belong into the file values.
//
// values
//
//	A file of values.
//
// version
//
//	The version of the chart. Default: the newest.
//
// namespace
//
//	The namespace. Default: that of the kubeconfig.
//
// set
//
//	A value KEY=VALUE, or a list of them.
//
// CLI Example:
//
//	salt '*' helm.install RELEASE CHART values=/path/to/values.yaml
func (m *module) install(ctx context.Context, a installArgs) (any, error) {
	return m.do(ctx, a.all(), []string{"install"}, a.Release, a.Chart)
}

// upgrade brings a release to a version of a chart, and returns True or helm's error. Its arguments are
// those of helm.install.
//
// CLI Example:
//
//	salt '*' helm.upgrade RELEASE CHART values=/path/to/values.yaml
func (m *module) upgrade(ctx context.Context, a installArgs) (any, error) {
	return m.do(ctx, a.all(), []string{"upgrade"}, a.Release, a.Chart)
}

// needsUpgrade returns whether helm.upgrade with the same arguments would change a release: its manifest or
// its values, by a trial run of helm. It is Brine's own.
//
// CLI Example:
//
//	salt '*' helm.needs_upgrade RELEASE CHART values=/path/to/values.yaml
func (m *module) needsUpgrade(ctx context.Context, a installArgs) (any, error) {
	now, err := m.status(ctx, inArgs{a.Release, a.Namespace, options{}})
	if err != nil {
		return nil, err
	}
	had, ok := now.(*data.Map)
	if !ok {
		return nil, loader.Execution("helm status: %s", data.Str(now))
	}
	info, _ := had.Value("info").(*data.Map)
	trial := a.all()
	trial.Flags = append(append([]string{}, trial.Flags...), "dry-run")
	trial.Kvflags.Delete("--output")
	trial.Kvflags.Set("output", "json")
	would, err := m.value(ctx, trial, []string{"upgrade"}, a.Release, a.Chart)
	if err != nil {
		return nil, err
	}
	next, ok := would.(*data.Map)
	if !ok {
		return nil, loader.Execution("helm upgrade: %s", data.Str(would))
	}
	same := info.Text("status") == "deployed" && had.Text("manifest") == next.Text("manifest") &&
		equalOrEmpty(had.Value("config"), next.Value("config"))
	return !same, nil
}

func equalOrEmpty(a, b any) bool { return !data.Truth(a) && !data.Truth(b) || data.Equal(a, b) }
