package helm

import "context"

type chartArgs struct {
	Chart string
	options
}

type nameArgs struct {
	Name string
	options
}

type pathArgs struct {
	Path string
	options
}

type keywordArgs struct {
	Keyword string
	options
}

type pluginArgs struct {
	Plugin string
	options
}

type shellArgs struct {
	Shell string
	options
}

type commandArgs struct {
	Command string
	options
}

type noArgs struct{ options }

// completion returns a script that completes commands in a shell: bash, zsh, fish or powershell.
//
// CLI Example:
//
//	salt '*' helm.completion bash
func (m *module) completion(ctx context.Context, a shellArgs) (any, error) {
	return m.text(ctx, a.options, []string{"completion"}, a.Shell)
}

// create makes a directory with a new chart, and returns True or helm's error. The arguments flags and
// kvflags of each function are options of helm: a list of names, and a dictionary of names and values.
//
// CLI Example:
//
//	salt '*' helm.create NAME
func (m *module) create(ctx context.Context, a nameArgs) (any, error) {
	return m.do(ctx, a.options, []string{"create"}, a.Name)
}

// dependencyBuild downloads the dependencies of a chart as its lock file names them, and returns True or
// helm's error.
//
// CLI Example:
//
//	salt '*' helm.dependency_build CHART
func (m *module) dependencyBuild(ctx context.Context, a chartArgs) (any, error) {
	return m.do(ctx, a.options, []string{"dependency", "build"}, a.Chart)
}

// dependencyList returns a text with the dependencies of a chart.
//
// CLI Example:
//
//	salt '*' helm.dependency_list CHART
func (m *module) dependencyList(ctx context.Context, a chartArgs) (any, error) {
	return m.text(ctx, a.options, []string{"dependency", "list"}, a.Chart)
}

// dependencyUpdate downloads the dependencies of a chart as its Chart.yaml names them, and returns True or
// helm's error.
//
// CLI Example:
//
//	salt '*' helm.dependency_update CHART
func (m *module) dependencyUpdate(ctx context.Context, a chartArgs) (any, error) {
	return m.do(ctx, a.options, []string{"dependency", "update"}, a.Chart)
}

// help returns helm's help for a command.
//
// CLI Example:
//
//	salt '*' helm.help COMMAND
func (m *module) help(ctx context.Context, a commandArgs) (any, error) {
	return m.text(ctx, a.options, []string{"help"}, a.Command)
}

// pack packs a chart into an archive, and returns True or helm's error.
//
// CLI Example:
//
//	salt '*' helm.package CHART
func (m *module) pack(ctx context.Context, a chartArgs) (any, error) {
	return m.do(ctx, a.options, []string{"package"}, a.Chart)
}

// pluginInstall installs a plug-in of helm from a path or an address, and returns True or helm's error.
//
// CLI Example:
//
//	salt '*' helm.plugin_install PATH
func (m *module) pluginInstall(ctx context.Context, a pathArgs) (any, error) {
	return m.do(ctx, a.options, []string{"plugin", "install"}, a.Path)
}

// pluginUninstall removes a plug-in of helm, and returns True or helm's error.
//
// CLI Example:
//
//	salt '*' helm.plugin_uninstall PLUGIN
func (m *module) pluginUninstall(ctx context.Context, a pluginArgs) (any, error) {
	return m.do(ctx, a.options, []string{"plugin", "uninstall"}, a.Plugin)
}

// pluginUpdate updates a plug-in of helm, and returns True or helm's error.
//
// CLI Example:
//
//	salt '*' helm.plugin_update PLUGIN
func (m *module) pluginUpdate(ctx context.Context, a pluginArgs) (any, error) {
	return m.do(ctx, a.options, []string{"plugin", "update"}, a.Plugin)
}

// searchHub returns the charts of Artifact Hub that fit a keyword.
//
// CLI Example:
//
//	salt '*' helm.search_hub KEYWORD
func (m *module) searchHub(ctx context.Context, a keywordArgs) (any, error) {
	return m.value(ctx, a.options, []string{"search", "hub"}, a.Keyword)
}

// searchRepo returns the charts of the host's repositories that fit a keyword.
//
// CLI Example:
//
//	salt '*' helm.search_repo KEYWORD
func (m *module) searchRepo(ctx context.Context, a keywordArgs) (any, error) {
	return m.value(ctx, a.options, []string{"search", "repo"}, a.Keyword)
}

// showAll returns the description, the values and the README of a chart.
//
// CLI Example:
//
//	salt '*' helm.show_all CHART
func (m *module) showAll(ctx context.Context, a chartArgs) (any, error) {
	return m.text(ctx, a.options, []string{"show", "all"}, a.Chart)
}

// showChart returns the description of a chart.
//
// CLI Example:
//
//	salt '*' helm.show_chart CHART
func (m *module) showChart(ctx context.Context, a chartArgs) (any, error) {
	return m.text(ctx, a.options, []string{"show", "chart"}, a.Chart)
}

// showReadme returns the README of a chart.
//
// CLI Example:
//
//	salt '*' helm.show_readme CHART
func (m *module) showReadme(ctx context.Context, a chartArgs) (any, error) {
	return m.text(ctx, a.options, []string{"show", "readme"}, a.Chart)
}

// showValues returns the default values of a chart.
//
// CLI Example:
//
//	salt '*' helm.show_values CHART
func (m *module) showValues(ctx context.Context, a chartArgs) (any, error) {
	return m.text(ctx, a.options, []string{"show", "values"}, a.Chart)
}

// verify checks the signature of a packed chart, and returns True or helm's error.
//
// CLI Example:
//
//	salt '*' helm.verify PATH
func (m *module) verify(ctx context.Context, a pathArgs) (any, error) {
	return m.do(ctx, a.options, []string{"verify"}, a.Path)
}

// variables returns the variables that helm uses.
//
// CLI Example:
//
//	salt '*' helm.env
func (m *module) variables(ctx context.Context, a noArgs) (any, error) {
	return m.text(ctx, a.options, []string{"env"})
}

// pluginList returns a text with the plug-ins of helm.
//
// CLI Example:
//
//	salt '*' helm.plugin_list
func (m *module) pluginList(ctx context.Context, a noArgs) (any, error) {
	return m.text(ctx, a.options, []string{"plugin", "list"})
}

// version returns the version of helm.
//
// CLI Example:
//
//	salt '*' helm.version
func (m *module) version(ctx context.Context, a noArgs) (any, error) {
	return m.text(ctx, a.options, []string{"version"})
}

type pullArgs struct {
	Pkg string
	options
}

// pull downloads a chart, and returns True or helm's error. pkg is REPOSITORY/NAME or an address.
//
// CLI Example:
//
//	salt '*' helm.pull PKG
func (m *module) pull(ctx context.Context, a pullArgs) (any, error) {
	return m.do(ctx, a.options, []string{"pull"}, a.Pkg)
}

type lintArgs struct {
	Path      string
	Values    any `default:"None"`
	Namespace any `default:"None"`
	Set       any `default:"None"`
	options
}

// lint checks a chart, and returns True or helm's error. values is a file of values, and set a value
// KEY=VALUE or a list of them.
//
// CLI Example:
//
//	salt '*' helm.lint PATH
func (m *module) lint(ctx context.Context, a lintArgs) (any, error) {
	return m.do(ctx, a.with("values", a.Values, "namespace", a.Namespace, "set", a.Set), []string{"lint"},
		a.Path)
}

type templateArgs struct {
	Name      string
	Chart     string
	Values    any `default:"None"`
	OutputDir any `default:"None"`
	Set       any `default:"None"`
	options
}

// template returns the manifests of a chart without installing it. With output_dir they go into files below
// that directory.
//
// CLI Example:
//
//	salt '*' helm.template NAME CHART
func (m *module) template(ctx context.Context, a templateArgs) (any, error) {
	return m.text(ctx, a.with("values", a.Values, "set", a.Set, "output-dir", a.OutputDir),
		[]string{"template"}, a.Name, a.Chart)
}
