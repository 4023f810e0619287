// Package helm is Salt's module helm: charts and releases of Kubernetes, by the program helm, version 3
// (salt/modules/helm.py).
//
// helm.go runs the program, chart.go, release.go and repo.go have the functions.
//
// Differences from Salt: no secret is an argument of helm. The password of helm.repo_add reaches it on
// standard input, which needs Helm 3.2 or newer, and the kvflag kube-token as the variable HELM_KUBETOKEN.
// Other functions refuse the kvflag password. helm.repo_manage adds repositories without the flag --output,
// which helm repo add does not know; Salt passes it if there are kvflags.
package helm

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module helm.
func Plugin() loader.Plugin { return loader.Plugin{Name: "helm", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("completion", m.completion),
		loader.F("create", m.create),
		loader.F("dependency_build", m.dependencyBuild),
		loader.F("dependency_list", m.dependencyList),
		loader.F("dependency_update", m.dependencyUpdate),
		loader.F("env", m.variables),
		loader.F("get_all", m.getAll),
		loader.F("get_hooks", m.getHooks),
		loader.F("get_manifest", m.getManifest),
		loader.F("get_notes", m.getNotes),
		loader.F("get_values", m.getValues),
		loader.F("help", m.help).Def("help_"),
		loader.F("history", m.history),
		loader.F("install", m.install).Secret("set", "kvflags"),
		loader.F("lint", m.lint).Secret("set", "kvflags"),
		loader.F("list", m.list).Def("list_"),
		loader.F("needs_upgrade", m.needsUpgrade).Secret("set", "kvflags"),
		loader.F("package", m.pack).Secret("kvflags"),
		loader.F("plugin_install", m.pluginInstall),
		loader.F("plugin_list", m.pluginList),
		loader.F("plugin_uninstall", m.pluginUninstall),
		loader.F("plugin_update", m.pluginUpdate),
		loader.F("pull", m.pull),
		loader.F("repo_add", m.repoAdd).Secret("kvflags"),
		loader.F("repo_index", m.repoIndex),
		loader.F("repo_list", m.repoList),
		loader.F("repo_manage", m.repoManage).Secret("kvflags"),
		loader.F("repo_remove", m.repoRemove),
		loader.F("repo_update", m.repoUpdate),
		loader.F("rollback", m.rollback),
		loader.F("search_hub", m.searchHub),
		loader.F("search_repo", m.searchRepo),
		loader.F("show_all", m.showAll),
		loader.F("show_chart", m.showChart),
		loader.F("show_readme", m.showReadme),
		loader.F("show_values", m.showValues),
		loader.F("status", m.status),
		loader.F("template", m.template).Secret("set", "kvflags"),
		loader.F("test", m.test),
		loader.F("uninstall", m.uninstall),
		loader.F("upgrade", m.upgrade).Secret("set", "kvflags"),
		loader.F("verify", m.verify),
		loader.F("version", m.version),
	}}, nil
}

// options are the options that each function takes.
type options struct {
	Flags   []string  `default:"None"`
	Kvflags *data.Map `default:"None"`
}

// with returns the options with further ones: names and values in turn. A value that is false in Python is
// left out.
func (o options) with(pairs ...any) options {
	all := o.Kvflags.Clone()
	if all == nil {
		all = &data.Map{}
	}
	for i := 0; i < len(pairs); i += 2 {
		if data.Truth(pairs[i+1]) {
			all.Set(pairs[i], pairs[i+1])
		}
	}
	return options{o.Flags, all}
}

// A call is a command of helm.
type call struct {
	argv  []string
	env   *data.Map
	stdin string
}

func dashed(name string) string {
	if strings.HasPrefix(name, "--") {
		return name
	}
	return "--" + name
}

// newCall returns a command with operands, of which none is an option.
func newCall(command []string, operands []string, o options) (call, error) {
	c := call{argv: append([]string{"helm"}, command...)}
	if err := process.PlainOperands(operands...); err != nil {
		return c, loader.Execution("%w", err)
	}
	c.argv = append(c.argv, operands...)
	for _, flag := range o.Flags {
		c.argv = append(c.argv, dashed(flag))
	}
	for key, v := range o.Kvflags.All() {
		if err := c.option(dashed(data.Str(key)), v); err != nil {
			return c, err
		}
	}
	for _, word := range c.argv {
		if strings.ContainsAny(word, "\n\r\x00") {
			return c, loader.Execution("an option of helm has more than one line")
		}
	}
	return c, nil
}

// option adds an option with a value, or several for a list of --set. Secrets go other ways.
func (c *call) option(name string, v any) error {
	values := []string{data.Str(v)}
	if list, ok := v.([]any); ok && name == "--set" {
		values = data.Texts(list)
	}
	switch {
	case name == "--kube-token":
		c.env = data.NewMap("HELM_KUBETOKEN", values[0])
		return nil
	case name == "--password" && slices.Equal(c.argv[1:min(3, len(c.argv))], []string{"repo", "add"}):
		if strings.ContainsAny(values[0], "\n\r\x00") {
			return loader.Execution("the password of a repository has more than one line")
		}
		c.argv, c.stdin = append(c.argv, "--password-stdin"), values[0]+"\n"
		return nil
	case name == "--password":
		return loader.Execution("helm takes this password only as an argument, which every user of the " +
			"host can read; add the repository with helm.repo_add, and its password there")
	}
	for _, value := range values {
		c.argv = append(c.argv, name, value)
	}
	return nil
}

// run runs a command. Its failure to start is a result too.
func (m *module) run(ctx context.Context, command, operands []string, o options) (calls.Ran, error) {
	c, err := newCall(command, operands, o)
	if err != nil {
		return calls.Ran{}, err
	}
	r := calls.Run{Argv: c.argv, Env: c.env, Stdin: c.stdin}
	if c.stdin != "" {
		r.Log = "quiet"
	}
	ran, err := calls.RunAll(ctx, m.env, r)
	if kind := loader.KindOf(err); kind == loader.KindExecution || kind == loader.KindNotFound {
		return calls.Ran{Retcode: -1, Stderr: err.Error()}, nil
	}
	return ran, err
}

// do runs a command, and returns true or the error output.
func (m *module) do(ctx context.Context, o options, command []string, operands ...string) (any, error) {
	ran, err := m.run(ctx, command, operands, o)
	if err != nil || ran.Retcode != 0 {
		return ran.Stderr, err
	}
	return true, nil
}

// text runs a command, and returns its output, or its error output if it fails.
func (m *module) text(ctx context.Context, o options, command []string, operands ...string) (any, error) {
	ran, err := m.run(ctx, command, operands, o)
	if err != nil || ran.Retcode != 0 {
		return ran.Stderr, err
	}
	return ran.Stdout, nil
}

// value runs a command, and returns the value of its JSON, or its error output if it fails. With another
// format among the options it returns the text.
func (m *module) value(ctx context.Context, o options, command []string, operands ...string) (any, error) {
	if !o.Kvflags.Has("output") && !o.Kvflags.Has("--output") {
		o = o.with("output", "json")
	}
	ran, err := m.run(ctx, command, operands, o)
	if err != nil || ran.Retcode != 0 {
		return ran.Stderr, err
	}
	if o.Kvflags.Text("output") != "json" && o.Kvflags.Text("--output") != "json" {
		return ran.Stdout, nil
	}
	return fromJSON(ran.Stdout)
}

func fromJSON(text string) (any, error) {
	v, err := pyjson.Load(text)
	if err != nil {
		return nil, loader.Execution("read the output of helm: %w", err)
	}
	return v, nil
}
