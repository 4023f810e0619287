package pip

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pep440"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// An installCall is one call of pip.installed in progress.
type installCall struct {
	m        *module
	a        installedArgs
	pkgs     []string
	wanted   []requirement // not yet installed
	there    []string      // comments on installed ones
	comments []string      // comments on those that were just installed
	changes  *data.Map
}

// asIs reports whether requirements files or sources are installed without a comparison.
func (i *installCall) asIs() bool {
	return data.Truth(i.a.Requirements) ||
		data.Truth(i.a.Editable)
}

// A requirement is a package requested by a state.
type requirement struct {
	text, name string // name is "" for URLs and paths
	specs      [][2]string
}

// texts returns packages as strings. An element may be a dictionary of a name and its version.
func texts(list []any) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = data.Str(v)
		if one, ok := v.(*data.Map); ok && one.Len() > 0 {
			name, version := one.At(0)
			out[i] = data.Str(name) + " " + data.Str(version)
		}
	}
	return out
}

// look checks pip's version and determines what to install.
func (i *installCall) look(ctx context.Context) error {
	v, err := i.m.env.Call(ctx, "pip.version", []any{i.a.BinEnv}, nil)
	if err != nil {
		return i.m.noPip("Error installing", i.a.Name, err)
	}
	for option, set := range map[string]bool{"use_wheel": i.a.UseWheel,
		"no_use_wheel": i.a.NoUseWheel} {
		if set {
			return errors.New("The '" + option +
				"' option is only supported in pip between 1.4 and " +
				"9.0.3. The version of pip detected was " + data.Str(v) + ".")
		}
	}
	if i.asIs() {
		return nil
	}
	return i.choose(ctx)
}

// noPip makes the state fail if there is no pip. Other errors are raised.
func (m *module) noPip(text string, name any, err error) error {
	if kind := loader.KindOf(err); kind == loader.KindExecution || kind == loader.KindNotFound {
		return fmt.Errorf("%s '%s': %w", text, data.Str(name), err)
	}
	return change.Raise(err)
}

// parse parses a requirement as pip does. The second result is an error message.
func parse(text string) (requirement, string) {
	r := requirement{text: text}
	bare, _, _ := strings.Cut(text, ";")
	bare = strings.TrimSpace(bare)
	if strings.Contains(bare, "://") || strings.HasPrefix(bare, "/") ||
		strings.HasPrefix(bare, ".") {
		if egg := regexp.MustCompile(`[#&]egg=([A-Za-z0-9._-]+)`).FindStringSubmatch(bare); egg != nil {
			r.name = prefix(egg[1])
		} else if name, _, ok := strings.Cut(bare, " @ "); ok {
			r.name = prefix(name)
		}
		return r, ""
	}
	found := regexp.MustCompile(`^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[A-Za-z0-9._\s,-]*\])?\s*\(?\s*(.*?)\s*\)?$`).FindStringSubmatch(bare)
	if found == nil {
		return r, wrong(text)
	}
	r.name = prefix(found[1])
	if found[2] == "" {
		return r, ""
	}
	for spec := range strings.SplitSeq(found[2], ",") {
		one := regexp.MustCompile(`^\s*(===|==|~=|!=|<=|>=|<|>)\s*([^\s=<>!~]+)\s*$`).FindStringSubmatch(spec)
		if one == nil {
			return r, wrong(text)
		}
		r.specs = append(r.specs, [2]string{one[1], one[2]})
	}
	return r, ""
}

func prefix(name string) string {
	return regexp.MustCompile(`[^A-Za-z0-9.]+`).ReplaceAllString(strings.TrimSpace(name), "-")
}

func wrong(text string) string {
	if strings.Contains(text, "=") && !strings.Contains(text, "==") {
		return "Invalid version specification in package " + text +
			". '=' is not supported, use '==' instead."
	}
	return "pip raised an exception while parsing '" + text +
		"': Invalid requirement: '" + text + "'"
}

// satisfied reports whether a version meets the requirement.
func (r requirement) satisfied(version string) bool {
	for _, spec := range r.specs {
		if !pep440.Satisfies(version, spec[0], spec[1]) {
			return false
		}
	}
	return true
}

// version returns the version of a package in a list, and whether it is listed.
func version(list *data.Map, name string) (string, bool) {
	for k, v := range list.All() {
		if normal(data.Str(k)) == normal(name) {
			return data.Str(v), true
		}
	}
	return "", false
}

// normal returns the normalized name of a package (PEP 503).
func normal(name string) string {
	return strings.ToLower(regexp.MustCompile(`[-_.]+`).ReplaceAllString(name, "-"))
}

func (i *installCall) list(ctx context.Context) (*data.Map, error) {
	return loader.CallAs[*data.Map](ctx, i.m.env, "pip.list", nil, data.NewMap(
		"bin_env", i.a.BinEnv, "user", i.a.User, "cwd", i.a.Cwd, "env_vars", i.a.EnvVars))
}

// choose determines what to install.
func (i *installCall) choose(ctx context.Context) error {
	var wrong []string
	var all []requirement
	for _, pkg := range i.pkgs {
		r, problem := parse(pkg)
		if all = append(all, r); problem != "" {
			wrong = append(wrong, problem)
		}
	}
	if wrong != nil {
		return errors.New(strings.Join(wrong, "\n"))
	}
	list, err := i.list(ctx)
	if err != nil {
		return errors.New("Error installing '" + data.Str(i.a.Name) + "': " + err.Error())
	}
	for _, r := range all {
		comment, err := i.compare(ctx, r, list)
		if err != nil {
			return change.Raise(err)
		}
		if comment != "" {
			i.there = append(i.there, comment)
		} else {
			i.wanted = append(i.wanted, r)
		}
	}
	return nil
}

// comment returns the comment.
func (i *installCall) comment(o change.Outcome[*installCall]) any {
	last := "All specified packages are already installed"
	if i.a.Upgrade {
		last += " and up-to-date"
	}
	switch {
	case o.Stage == change.StageFailed:
		return nil
	case o.Stage == change.StageSame:
		return strings.Join(append(i.there, last), "\n")
	case o.Stage == change.StageDone && i.asIs():
		return strings.Join(i.comments, " ")
	case o.Stage == change.StageDone:
		return strings.Join(append(i.there, i.comments...), "\n")
	case i.asIs():
		return i.wouldProcess()
	case len(i.pkgs) > 1:
		return "Python package(s) set to be installed:\n" + strings.Join(i.pkgs, "\n")
	}
	return "Python package " + i.pkgs[0] + " is set to be installed"
}

// compare returns the comment on a package that is already as desired, "" if it is not.
func (i *installCall) compare(ctx context.Context, r requirement, list *data.Map) (string, error) {
	have, ok := version(list, r.name)
	if !ok || r.name == "" || i.a.IgnoreInstalled || i.a.ForceReinstall {
		return "", nil
	}
	same := "Python package " + r.text + " was already installed"
	if !i.a.Upgrade {
		if r.satisfied(have) {
			return same, nil
		}
		return "", nil
	}
	newest, err := i.newest(ctx, r)
	switch {
	case err != nil:
		return "", err
	case newest == "":
		return "Python package " + r.name +
			" was already installed and\nthe available upgrade doesn't fulfills the version requirements", nil
	case pep440.Compare(have, newest) == 0:
		return same, nil
	}
	return "", nil
}

// newest returns the newest acceptable version in an index, "" for none.
func (i *installCall) newest(ctx context.Context, r requirement) (string, error) {
	early := func(word string) bool {
		for _, spec := range r.specs {
			if strings.Contains(spec[1], word) {
				return true
			}
		}
		return false
	}
	list, err := loader.CallAs[[]any](ctx, i.m.env,
		"pip.list_all_versions", []any{r.name}, data.NewMap(
			"bin_env", i.a.BinEnv, "include_alpha", early("a"), "include_beta", early("b"),
			"include_rc", early("rc"), "user", i.a.User, "cwd", i.a.Cwd, "index_url", i.a.IndexURL,
			"extra_index_url", i.a.ExtraIndexURL))
	if err != nil {
		return "", err
	}
	for n := len(list) - 1; n >= 0; n-- {
		if r.satisfied(data.Str(list[n])) {
			return data.Str(list[n]), nil
		}
	}
	return "", nil
}

// call runs pip install. A failure is returned as a message.
func (i *installCall) call(
	ctx context.Context, pkgs string,
) (result *data.Map, failed string, err error) {
	result, err = loader.CallAs[*data.Map](ctx, i.m.env, "pip.install", nil, i.kwargs(ctx, pkgs))
	if err != nil {
		if errors.Is(err, context.Canceled) || loader.KindOf(err) == loader.KindType {
			return nil, "", change.Raise(err)
		}
		return nil, "Error: " + err.Error(), nil
	}
	switch {
	case result.Value("retcode") == int64(0):
		return result, "", nil
	case result.Has("stdout"):
		return nil, "Error: " + result.Text("stdout") + " " + result.Text("stderr"), nil
	}
	return nil, "Error: " + result.Text("comment"), nil
}

// apply installs the packages, and reads the installed packages again.
func (i *installCall) apply(ctx context.Context) error {
	if i.asIs() {
		return i.process(ctx)
	}
	var names []string
	for _, r := range i.wanted {
		names = append(names, strings.ReplaceAll(r.text, ",", ";"))
	}
	_, failed, err := i.call(ctx, strings.Join(names, ","))
	if err != nil {
		return err
	}
	if failed != "" {
		failed = "Failed to install packages: " + strings.Join(names, ", ") + ". " + failed
		return errors.New(strings.Join(append(i.there, failed), "\n"))
	}
	list, err := i.list(ctx)
	if err != nil {
		return change.Raise(err)
	}
	for _, r := range i.wanted {
		have, ok := version(list, r.name)
		switch {
		case r.name == "":
			i.changes.Set(r.text+"==???", "Installed")
		case ok:
			i.changes.Set(r.name+"=="+have, "Installed")
		default:
			i.comments = append(i.comments, "There was no error installing package '"+r.text+
				"' although it does not show when calling 'pip.freeze'.")
		}
	}
	if i.comments == nil {
		i.comments = []string{"All packages were successfully installed"}
	}
	return nil
}

// wouldProcess returns the comment of test mode about requirements files and sources.
func (i *installCall) wouldProcess() string {
	var comments []string
	if data.Truth(i.a.Requirements) {
		comments = append(comments, "Requirements file '"+data.Str(i.a.Requirements)+
			"' will be processed.")
	}
	if data.Truth(i.a.Editable) {
		comments = append(comments, `Package will be installed in editable mode (i.e. setuptools "develop `+
			`mode") from `+data.Str(i.a.Editable)+".")
	}
	return strings.Join(comments, " ")
}

// process installs requirements files and sources without a comparison.
func (i *installCall) process(ctx context.Context) error {
	result, failed, err := i.call(ctx, "")
	if err != nil {
		return err
	}
	file, source := data.Str(i.a.Requirements), data.Str(i.a.Editable)
	requirements, editable := data.Truth(i.a.Requirements), data.Truth(i.a.Editable)
	say := func(text string) { i.comments = append(i.comments, text) }
	switch {
	case failed != "" && requirements:
		say(`Unable to process requirements file "` + file + `"`)
	case requirements && changed(result.Text("stdout")):
		i.changes.Set("requirements", true)
		say("Successfully processed requirements file " + file + ".")
	case requirements:
		say("Requirements were already installed.")
	}
	switch {
	case failed != "" && editable:
		say("Unable to install from VCS checkout " + source + ".")
	case editable:
		i.changes.Set("editable", true)
		say("Package successfully installed from VCS checkout " + source + ".")
	}
	if failed != "" {
		return errors.New(strings.Join(append(i.comments, failed), " "))
	}
	return nil
}

// changed reports whether pip's output says that it installed something.
func changed(stdout string) bool {
	for line := range strings.SplitSeq(stdout, "\n") {
		quiet := false
		for _, word := range []string{"Requirement already satisfied",
			"Requirement already up-to-date", "Requirement not upgraded", "Collecting", "Cloning",
			"Cleaning up...", "Looking in indexes", "Looking in links"} {
			quiet = quiet || strings.HasPrefix(strings.TrimSpace(line), word)
		}
		if !quiet && strings.TrimSpace(line) != "" {
			return true
		}
	}
	return false
}
