package pip

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pep440"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// An installing is one call of pip.installed on its way.
type installing struct {
	m      *module
	a      installedArgs
	ret    *data.Map
	pkgs   []string
	wanted []requirement // that are not installed
	there  []string      // what is said of those that are
}

// A requirement is a package as a state asks for it.
type requirement struct {
	text, name string // the name is "" for URLs and paths
	specs      [][2]string
}

// texts returns packages as texts: an element may be a dictionary of a name and its version.
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

// end ends the state.
func (i *installing) end(result any, comment string) (bool, error) {
	i.ret.Set("result", result)
	i.ret.Set("comment", comment)
	return true, nil
}

func (i *installing) changes() *data.Map { return i.ret.Value("changes").(*data.Map) }

// check asks for pip and its version.
func (i *installing) check(ctx context.Context) (bool, error) {
	v, err := i.m.env.Call(ctx, "pip.version", []any{i.a.BinEnv}, nil)
	if kind := loader.KindOf(err); kind == loader.KindExecution || kind == loader.KindNotFound {
		return i.end(false, "Error installing '"+data.Str(i.a.Name)+"': "+err.Error())
	}
	if err != nil {
		return false, err
	}
	for option, set := range map[string]bool{"use_wheel": i.a.UseWheel, "no_use_wheel": i.a.NoUseWheel} {
		if set {
			return i.end(false, "The '"+option+"' option is only supported in pip between 1.4 and 9.0.3. The version of pip detected was "+data.Str(v)+".")
		}
	}
	return false, nil
}

// parse reads a requirement as pip does; what is wrong with it is a text.
func parse(text string) (requirement, string) {
	r := requirement{text: text}
	bare, _, _ := strings.Cut(text, ";")
	bare = strings.TrimSpace(bare)
	if strings.Contains(bare, "://") || strings.HasPrefix(bare, "/") || strings.HasPrefix(bare, ".") {
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
		return "Invalid version specification in package " + text + ". '=' is not supported, use '==' instead."
	}
	return "pip raised an exception while parsing '" + text + "': Invalid requirement: '" + text + "'"
}

// satisfied reports whether a version is as the requirement wants it.
func (r requirement) satisfied(version string) bool {
	for _, spec := range r.specs {
		if !pep440.Satisfies(version, spec[0], spec[1]) {
			return false
		}
	}
	return true
}

// version returns the version of a package in a list, and whether it is there.
func version(list *data.Map, name string) (string, bool) {
	for k, v := range list.All() {
		if normal(data.Str(k)) == normal(name) {
			return data.Str(v), true
		}
	}
	return "", false
}

// normal returns the name of a package as all forms of it have it (PEP 503).
func normal(name string) string {
	return strings.ToLower(regexp.MustCompile(`[-_.]+`).ReplaceAllString(name, "-"))
}

func (i *installing) list(ctx context.Context) (*data.Map, error) {
	v, err := i.m.env.Call(ctx, "pip.list", nil, data.NewMap("bin_env", i.a.BinEnv, "user", i.a.User, "cwd", i.a.Cwd, "env_vars", i.a.EnvVars))
	list, _ := v.(*data.Map)
	return list, err
}

// choose finds out what is to be installed, and ends the state where that is nothing, or in test mode.
func (i *installing) choose(ctx context.Context) (bool, error) {
	var wrong []string
	var all []requirement
	for _, pkg := range i.pkgs {
		r, problem := parse(pkg)
		if all = append(all, r); problem != "" {
			wrong = append(wrong, problem)
		}
	}
	if wrong != nil {
		return i.end(false, strings.Join(wrong, "\n"))
	}
	list, err := i.list(ctx)
	if err != nil {
		return i.end(false, "Error installing '"+data.Str(i.a.Name)+"': "+err.Error())
	}
	for _, r := range all {
		said, err := i.compare(ctx, r, list)
		if err != nil {
			return false, err
		}
		if said != "" {
			i.there = append(i.there, said)
		} else {
			i.wanted = append(i.wanted, r)
		}
	}
	switch {
	case len(i.wanted) == 0:
		last := "All specified packages are already installed"
		if i.a.Upgrade {
			last += " and up-to-date"
		}
		return i.end(true, strings.Join(append(i.there, last), "\n"))
	case change.Test(ctx) && len(all) > 1:
		return i.end(nil, "Python package(s) set to be installed:\n"+strings.Join(i.pkgs, "\n"))
	case change.Test(ctx):
		return i.end(nil, "Python package "+all[0].text+" is set to be installed")
	}
	return false, nil
}

// compare returns what is said of a package that is installed as wanted, "" for one that is not.
func (i *installing) compare(ctx context.Context, r requirement, list *data.Map) (string, error) {
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
		return "Python package " + r.name + " was already installed and\nthe available upgrade doesn't fulfills the version requirements", nil
	case pep440.Compare(have, newest) == 0:
		return same, nil
	}
	return "", nil
}

// newest returns the newest version that an index has as wanted, "" for none.
func (i *installing) newest(ctx context.Context, r requirement) (string, error) {
	early := func(word string) bool {
		for _, spec := range r.specs {
			if strings.Contains(spec[1], word) {
				return true
			}
		}
		return false
	}
	v, err := i.m.env.Call(ctx, "pip.list_all_versions", []any{r.name}, data.NewMap("bin_env", i.a.BinEnv, "include_alpha", early("a"), "include_beta", early("b"),
		"include_rc", early("rc"), "user", i.a.User, "cwd", i.a.Cwd, "index_url", i.a.IndexURL, "extra_index_url", i.a.ExtraIndexURL))
	if err != nil {
		return "", err
	}
	list, _ := v.([]any)
	for n := len(list) - 1; n >= 0; n-- {
		if r.satisfied(data.Str(list[n])) {
			return data.Str(list[n]), nil
		}
	}
	return "", nil
}

// call runs pip install; a failure is a text.
func (i *installing) call(ctx context.Context, pkgs string) (result *data.Map, failed string, err error) {
	v, err := i.m.env.Call(ctx, "pip.install", nil, i.kwargs(ctx, pkgs))
	if err != nil {
		if errors.Is(err, context.Canceled) || loader.KindOf(err) == loader.KindType {
			return nil, "", err
		}
		return nil, "Error: " + err.Error(), nil
	}
	result, _ = v.(*data.Map)
	switch {
	case result.Value("retcode") == int64(0):
		return result, "", nil
	case result.Has("stdout"):
		return nil, "Error: " + result.Text("stdout") + " " + result.Text("stderr"), nil
	}
	return nil, "Error: " + result.Text("comment"), nil
}

// install installs the packages, and reads again what is installed.
func (i *installing) install(ctx context.Context) (any, error) {
	var names []string
	for _, r := range i.wanted {
		names = append(names, strings.ReplaceAll(r.text, ",", ";"))
	}
	_, failed, err := i.call(ctx, strings.Join(names, ","))
	if err != nil {
		return nil, err
	}
	if failed != "" {
		i.end(false, strings.Join(append(i.there, "Failed to install packages: "+strings.Join(names, ", ")+". "+failed), "\n"))
		return i.ret, nil
	}
	list, err := i.list(ctx)
	if err != nil {
		return nil, err
	}
	var lost []string
	for _, r := range i.wanted {
		have, ok := version(list, r.name)
		switch {
		case r.name == "":
			i.changes().Set(r.text+"==???", "Installed")
		case ok:
			i.changes().Set(r.name+"=="+have, "Installed")
		default:
			lost = append(lost, "There was no error installing package '"+r.text+"' although it does not show when calling 'pip.freeze'.")
		}
	}
	if lost == nil {
		lost = []string{"All packages were successfully installed"}
	}
	i.end(true, strings.Join(append(i.there, lost...), "\n"))
	return i.ret, nil
}

// files installs files of requirements and sources as they stand.
func (i *installing) files(ctx context.Context) (any, error) {
	var said []string
	requirements, editable := data.Truth(i.a.Requirements), data.Truth(i.a.Editable)
	if change.Test(ctx) {
		if requirements {
			said = append(said, "Requirements file '"+data.Str(i.a.Requirements)+"' will be processed.")
		}
		if editable {
			said = append(said, `Package will be installed in editable mode (i.e. setuptools "develop mode") from `+data.Str(i.a.Editable)+".")
		}
		i.end(nil, strings.Join(said, " "))
		return i.ret, nil
	}
	result, failed, err := i.call(ctx, "")
	if err != nil {
		return nil, err
	}
	switch {
	case failed != "" && requirements:
		said = append(said, `Unable to process requirements file "`+data.Str(i.a.Requirements)+`"`)
	case requirements && changed(result.Text("stdout")):
		i.changes().Set("requirements", true)
		said = append(said, "Successfully processed requirements file "+data.Str(i.a.Requirements)+".")
	case requirements:
		said = append(said, "Requirements were already installed.")
	}
	switch {
	case failed != "" && editable:
		said = append(said, "Unable to install from VCS checkout "+data.Str(i.a.Editable)+".")
	case editable:
		i.changes().Set("editable", true)
		said = append(said, "Package successfully installed from VCS checkout "+data.Str(i.a.Editable)+".")
	}
	if failed != "" {
		said = append(said, failed)
	}
	i.end(failed == "", strings.Join(said, " "))
	return i.ret, nil
}

// changed reports whether pip says that it has installed something.
func changed(stdout string) bool {
	for line := range strings.SplitSeq(stdout, "\n") {
		quiet := false
		for _, word := range []string{"Requirement already satisfied", "Requirement already up-to-date", "Requirement not upgraded", "Collecting", "Cloning", "Cleaning up...",
			"Looking in indexes", "Looking in links"} {
			quiet = quiet || strings.HasPrefix(strings.TrimSpace(line), word)
		}
		if !quiet && strings.TrimSpace(line) != "" {
			return true
		}
	}
	return false
}
