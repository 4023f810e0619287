package yumpkg

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/internal/packages/rpm"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type installArgs struct {
	Name         any       `default:"None"`
	Refresh      any       `default:"False"`
	SkipVerify   any       `default:"False"`
	Pkgs         any       `default:"None"`
	Sources      any       `default:"None"`
	Downloadonly any       `default:"False"`
	Reinstall    any       `default:"False"`
	Normalize    any       `default:"True"`
	UpdateHolds  any       `default:"False"`
	Saltenv      any       `default:"'base'"`
	IgnoreEpoch  any       `default:"False"`
	Kwargs       *data.Map `kwargs:"kwargs"`
}

// install installs packages or changes their versions, and returns the changes by package: old and
// new versions.
//
// name
//
//	The package, or several separated by commas.
//
// version
//
//	The version, a pattern with a star, or a condition such as >=1.2.
//
// pkgs
//
//	A list of packages, each a name or a dictionary of name and version.
//
// sources
//
//	A list of dictionaries of name and file. The files may be URLs such as salt://foo.rpm.
//
// refresh
//
//	True: clear the cached repository data first.
//
// skip_verify
//
//	True: do not check signatures.
//
// downloadonly
//
//	True: download the packages and do not install them.
//
// reinstall
//
//	True: reinstall packages that are already installed in that version.
//
// normalize
//
//	False: keep the architecture in names even if it is that of the host.
//
// update_holds
//
//	True: remove holds during the installation.
//
// ignore_epoch
//
//	True: compare versions without the part before the colon.
//
// fromrepo, enablerepo, disablerepo, disableexcludes, branch, setopt
//
//	Passed to the program as options.
//
// diff_attr
//
//	The details to return of changed versions instead of the version: see attr of pkg.list_pkgs.
//
// advisory_ids
//
//	A list of advisories to install.
//
// CLI Example:
//
//	salt '*' pkg.install httpd refresh=True
func (m *module) install(ctx context.Context, a installArgs) (any, error) {
	kwargs := packages.Own(a.Kwargs)
	if v, ok := kwargs.Get("version"); ok {
		kwargs.Set("version", data.Str(v))
	}
	if packages.True(a.Refresh) {
		if _, err := m.refreshDB(ctx, kwargsArgs{kwargs}); err != nil {
			return nil, err
		}
	}
	targets, err := m.targets(ctx, a, kwargs)
	if err != nil || targets.Empty() {
		return &data.Map{}, err
	}
	p := &plan{module: m, args: a, kwargs: kwargs, options: options(kwargs),
		advisory: targets.Type == "advisory"}
	if err := p.look(ctx); err != nil {
		return nil, err
	}
	wanted, err := p.wanted(ctx, targets)
	if err != nil {
		return nil, err
	}
	for _, w := range wanted {
		p.add(w)
	}
	return p.execute(ctx)
}

// targets parses the arguments that name packages.
func (m *module) targets(
	ctx context.Context, a installArgs, kwargs *data.Map,
) (calls.Targets, error) {
	more := kwargs.Clone()
	split, ok := kwargs.Get("split_arch")
	more.Set("saltenv", a.Saltenv)
	more.Set("normalize", data.Truth(a.Normalize) && (!ok || data.Truth(split)))
	return calls.ParseTargets(ctx, m.env, calls.Wanted{
		Name: a.Name, Pkgs: a.Pkgs, Sources: a.Sources, More: more,
	})
}

// A plan holds the steps of an installation.
type plan struct {
	*module
	args     installArgs
	kwargs   *data.Map
	options  []any
	advisory bool

	old      *data.Map // before, in the form of the result
	versions *data.Map // before, as lists of versions
	holds    []string
	errors   []any
	// available versions of packages that are requested by a pattern or a condition
	available *data.Map

	install, downgrade, reinstall []target
	heldBack                      []string
}

// A target is a package and the program's argument for it.
type target struct{ name, word string }

// A want is a requested package.
type want struct {
	name    string // "" if a file cannot be read
	file    string
	version any // nil for any
}

// look reads the installed packages before the installation.
func (p *plan) look(ctx context.Context) (err error) {
	if data.Truth(p.args.Downloadonly) {
		p.old, err = p.downloaded(ctx)
		p.versions = p.old
		return err
	}
	if p.old, err = p.installed(ctx, false, p.kwargs.Value("diff_attr")); err != nil {
		return err
	}
	p.versions, err = p.installed(ctx, true, nil)
	return err
}

// wanted returns the requested packages.
func (p *plan) wanted(ctx context.Context, t calls.Targets) ([]want, error) {
	switch t.Type {
	case "repository":
		return p.fromRepos(ctx, t.Packages)
	case "advisory":
		return p.advisories(ctx, t.List)
	}
	var all []want
	for _, f := range t.List {
		info, ok, err := calls.BinPkgInfo(ctx, p.env, f)
		if err != nil {
			return nil, err
		}
		if !ok {
			p.env.Log.Errorf("pkg.install: Unable to get rpm information for %s. Version comparisons will be unavailable, and return data may be inaccurate "+
				"if reinstall=True.", f)
			all = append(all, want{file: f})
			continue
		}
		all = append(all, want{info.Name, f, info.Version})
	}
	return all, nil
}

func (p *plan) fromRepos(ctx context.Context, pkgs *data.Map) ([]want, error) {
	var all []want
	var open []any // packages whose versions must be looked up
	for name, v := range pkgs.All() {
		if v != nil {
			v = data.Str(v)
			if s := v.(string); strings.Contains(s, "*") || strings.HasPrefix(s, "<") ||
				strings.HasPrefix(s, ">") {
				open = append(open, name)
			}
		}
		all = append(all, want{name: data.Str(name), version: v})
	}
	if len(open) == 0 {
		return all, nil
	}
	var err error
	p.available, err = p.listRepoPkgs(ctx, namesArgs{open, p.kwargs})
	return all, err
}

func (p *plan) advisories(ctx context.Context, ids []string) ([]want, error) {
	patches, err := p.patches(ctx)
	if err != nil {
		return nil, err
	}
	var all []want
	for _, id := range ids {
		if !patches.Has(id) {
			return nil, loader.Execution("Advisory id \"%s\" not found", id)
		}
		all = append(all, want{name: id})
	}
	return all, nil
}

// add adds a package to the steps that it needs.
func (p *plan) add(w want) {
	reinstall := packages.True(p.args.Reinstall)
	if w.version == nil {
		word := w.name
		if w.file != "" {
			word = w.file
		}
		if reinstall && w.file == "" && !p.advisory && p.old.Has(w.name) {
			p.reinstall = append(p.reinstall, target{w.name, word})
		} else {
			p.install = append(p.install, target{w.name, word})
		}
		return
	}
	name, word, version, ok := w.name, w.file, data.Str(w.version), true
	if w.file == "" {
		name, word, version, ok = p.word(w.name, version)
	}
	if ok {
		p.sort(target{name, word}, version, reinstall)
	}
}

// word returns the program's argument for a package and its version, and the version that a pattern
// or a condition selected. ok is false if no version matches.
func (p *plan) word(name, version string) (bare, word, found string, ok bool) {
	version = strings.TrimLeft(version, "=")
	offered := data.Texts(listOf(p.available.Value(name)))
	ignore := p.args.IgnoreEpoch == true
	if strings.HasPrefix(version, "<") || strings.HasPrefix(version, ">") {
		v, ok := packages.Match(version, offered, compare(ignore))
		if !ok {
			p.errors = append(p.errors, fmt.Sprintf("No version matching '%s%s' could be found (available: %s)", name, version, listedOr(offered, "None")))
			return "", "", "", false
		}
		version = v
	}
	if p.program == "yum" && ignore {
		version = packages.WithoutEpoch(version)
	}
	bare, arch := p.splitArch(name)
	if strings.Contains(version, "*") {
		i := slices.IndexFunc(offered,
			func(v string) bool { fits, err := path.Match(version, v); return fits && err == nil })
		if i < 0 {
			p.errors = append(p.errors, fmt.Sprintf("No version matching '%s' found for package '%s' (available: %s)", version, bare, listedOr(offered, "none")))
			return "", "", "", false
		}
		version = offered[i]
	}
	shown := version
	if !ignore {
		shown = packages.WithoutEpoch(version)
	}
	return bare, bare + "-" + shown + arch, version, true
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

func listedOr(offered []string, none string) string {
	if len(offered) == 0 {
		return none
	}
	return strings.Join(offered, ", ")
}

// splitArch splits a name into the name that rpm knows and the architecture with its dot. It
// returns an empty architecture if the name must stay whole.
func (p *plan) splitArch(name string) (bare, arch string) {
	return splitArch(name, p.osArch(), p.kwargs)
}

func splitArch(name, osArch string, kwargs *data.Map) (bare, dotted string) {
	bare, arch := rpm.SplitArch(name, false)
	split, ok := kwargs.Get("split_arch")
	if arch == "" || arch == osArch && ok && !data.Truth(split) {
		return name, ""
	}
	return bare, "." + arch
}

var kernel = regexp.MustCompile(`^kernel(|-devel)$`)

// sort adds a package to install, downgrade or reinstall, depending on the installed versions.
func (p *plan) sort(t target, version string, reinstall bool) {
	have := listOf(p.versions.Value(t.name))
	by := compare(p.args.IgnoreEpoch == true)
	any := func(oper string) bool {
		return slices.ContainsFunc(have,
			func(v any) bool { return packages.Holds(version, oper, data.Str(v), by) })
	}
	switch {
	case reinstall && len(have) > 0:
		if any("==") {
			p.reinstall = append(p.reinstall, t)
		}
	case len(have) == 0, any(">="), kernel.MatchString(t.name): // several kernels may be installed
		p.install = append(p.install, t)
	default:
		p.downgrade = append(p.downgrade, t)
	}
}

// execute executes the plan and returns the changes.
func (p *plan) execute(ctx context.Context) (any, error) {
	holds, err := p.held(ctx, false)
	if err != nil {
		if loader.KindOf(err) != loader.KindInvocation {
			return nil, err
		}
		p.env.Log.Debug("Failed to get holds, versionlock plugin is probably not installed")
	}
	p.holds = holds
	verb := "install"
	if p.advisory {
		verb = "update"
	}
	for _, step := range []struct {
		verb    string
		targets []target
	}{{verb, p.install}, {"downgrade", p.downgrade}, {"reinstall", p.reinstall}} {
		if err := p.step(ctx, step.verb, step.targets); err != nil {
			return nil, err
		}
	}
	forget(ctx)
	return p.result(ctx)
}

// step runs the program for some of the packages. It skips held packages, or removes their holds
// during the run.
func (p *plan) step(ctx context.Context, verb string, targets []target) error {
	var free []any
	held := map[string]string{}
	var names []any
	for _, t := range targets {
		switch {
		case !slices.Contains(p.holds, t.name):
			free = append(free, p.asWord(t))
		case data.Truth(p.args.UpdateHolds):
			held[t.name] = p.asWord(t)
			names = append(names, t.name)
		default:
			p.heldBack = append(p.heldBack, t.name)
		}
	}
	if len(names) > 0 {
		defer func() { _, _ = p.hold(ctx, holdArgs{Pkgs: names, Kwargs: &data.Map{}}) }()
		done, err := p.unhold(ctx, unholdArgs{Pkgs: names, Kwargs: &data.Map{}})
		if err != nil {
			p.errors = append(p.errors, fmt.Sprintf("Error encountered unholding packages %s: %v",
				strings.Join(data.Texts(names), ", "), err))
		}
		for name, outcome := range done.All() {
			if outcome.(*data.Map).Value("result") == true {
				free = append(free, held[data.Str(name)])
			} else {
				p.errors = append(p.errors, name)
			}
		}
	}
	if len(free) == 0 {
		return nil
	}
	out, err := p.yum(ctx, calls.Run{MergeStderr: true}, append(p.command(verb), free...)...)
	if err == nil && out.Retcode != 0 {
		p.errors = append(p.errors, out.Stdout)
	}
	return err
}

func (p *plan) asWord(t target) string {
	if p.advisory {
		return "--advisory=" + t.word
	}
	return t.word
}

// command returns the program's arguments up to the packages.
func (p *plan) command(verb string) []any {
	best := []any{"--best", "--allowerasing"}
	first := verb == "install" || verb == "update"
	words := []any{"-y"}
	if first && p.program == "dnf" {
		words = append(words, best...)
	}
	words = append(words, p.options...)
	if data.Truth(p.args.SkipVerify) {
		words = append(words, "--nogpgcheck")
	}
	if data.Truth(p.args.Downloadonly) && p.program != "dnf5" {
		words = append(words, "--downloadonly")
	}
	words = append(words, verb)
	if first && p.program == "dnf5" {
		words = append(words, best...)
	}
	if data.Truth(p.args.Downloadonly) && p.program == "dnf5" {
		words = append(words, "--downloadonly")
	}
	return words
}

// result returns the changes, or the errors with them.
func (p *plan) result(ctx context.Context) (any, error) {
	now := &plan{module: p.module, args: p.args, kwargs: p.kwargs}
	if err := now.look(ctx); err != nil {
		return nil, err
	}
	changes := packages.Changes(p.old, now.old)
	for _, t := range p.reinstall {
		if !changes.Has(t.name) || p.old.Has(t.name) {
			changes.Set(t.name, data.NewMap("old", orEmpty(p.old, t.name),
				"new", orEmpty(now.old, t.name)))
		}
	}
	if len(p.heldBack) > 0 {
		p.errors = append(p.errors, fmt.Sprintf("The following package(s) could not be updated because they are being held: %s. Set 'update_holds' to True to "+
			"temporarily unhold these packages so that they can be updated.",
			strings.Join(p.heldBack, ", ")))
	}
	if len(p.errors) == 0 {
		return changes, nil
	}
	what := ""
	if len(p.reinstall) > 0 {
		what = "/reinstalling"
	}
	return nil, loader.ExecutionInfo("Error occurred installing"+what+
		" package(s)", data.NewMap("errors", p.errors, "changes", changes))
}

func orEmpty(m *data.Map, key string) any {
	if v, ok := m.Get(key); ok {
		return v
	}
	return ""
}
