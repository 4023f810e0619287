package aptsources

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
)

type kwargsArgs struct {
	Kwargs *data.Map `kwargs:"kwargs"`
}

// listRepos returns the sources of apt by URI.
//
// CLI Example:
//
//	salt '*' pkg.list_repos
func (m *module) listRepos(context.Context, kwargsArgs) (any, error) {
	s, err := m.load()
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	repos := &data.Map{}
	for _, e := range s.valid() {
		at, _ := repos.Value(e.uri).([]any)
		repos.Set(e.uri, append(at, e.repo()))
	}
	return repos, nil
}

type repoArgs struct {
	Repo   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// getRepo returns a source, or an empty dictionary. The source is named by a whole line; a source
// matches if it has any of the line's components.
//
// CLI Example:
//
//	salt '*' pkg.get_repo "deb http://deb.debian.org/debian bookworm main"
func (m *module) getRepo(_ context.Context, a repoArgs) (any, error) {
	s, err := m.loadWith(a.Kwargs)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	def, err := m.definition(a.Repo, a.Kwargs)
	if err != nil {
		return nil, err
	}
	withLogin(def, a.Kwargs.Text("ppa_auth"))
	for _, e := range s.valid() {
		if e.sameOrMoved(def, a.Kwargs) && (len(def.comps) == 0 || intersects(e.comps, def.comps)) {
			return e.repo(), nil
		}
	}
	return &data.Map{}, nil
}

// definition parses a requested source, which may be a PPA.
func (m *module) definition(repo string, kwargs *data.Map) (*entry, error) {
	if isPPA(repo) && m.supportsPPA() {
		owner, name, err := ppaOf(repo)
		if err != nil {
			return nil, err
		}
		repo = m.ppaLine(owner, name, kwargs)
	}
	return parseLine(repo, mainFile), nil
}

var web = regexp.MustCompile(`(https?://)(.+)`)

// withLogin inserts the login of a private archive into the URI of a source.
func withLogin(e *entry, login string) {
	if m := web.FindStringSubmatch(e.uri); login != "" && m != nil &&
		!strings.HasPrefix(m[2], login) {
		e.uri = m[1] + login + "@" + m[2]
	}
}

func intersects(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// expandRepoDef returns a source in the form of pkg.get_repo as it would be once configured, for
// the state pkgrepo to compare. The source is named in the argument repo, as for pkg.mod_repo.
//
// CLI Example:
//
//	salt '*' pkg.expand_repo_def repo='deb http://deb.debian.org/debian bookworm main' comps=main,contrib
func (m *module) expandRepoDef(_ context.Context, a kwargsArgs) (any, error) {
	repo, ok := a.Kwargs.Get("repo")
	if !ok {
		return nil, loader.Invocation("missing 'repo' argument")
	}
	e, err := m.definition(data.Str(repo), a.Kwargs)
	if err != nil {
		return nil, err
	}
	e.comment = ""
	if comps, ok := a.Kwargs.Get("comps"); ok {
		e.comps = words(comps)
	}
	if archs, ok := a.Kwargs.Get("architectures"); ok {
		e.setOption("arch", strings.Join(words(archs), ","))
	}
	if v, ok := a.Kwargs.Get("signedby"); ok {
		e.setOption("signed-by", data.Str(v))
	}
	for name, field := range map[string]*string{"uri": &e.uri, "dist": &e.dist} {
		if v, ok := a.Kwargs.Get(name); ok {
			*field = data.Str(v)
		}
	}
	if v, ok := a.Kwargs.Get("disabled"); ok {
		e.disabled = packages.True(v)
	}
	e.changed = true
	return e.repo(), nil
}

// words reads a list, which may be a comma-separated string.
func words(v any) []string {
	if list, ok := v.([]any); ok {
		v = data.Str(strings.Join(data.Texts(list), ","))
	}
	var out []string
	for w := range strings.SplitSeq(data.Str(v), ",") {
		out = append(out, strings.TrimSpace(w))
	}
	return out
}

// noRepo returns the error for a source that does not exist.
func noRepo(repo string) error {
	return loader.Execution("Repo %s doesn't exist in the sources.list(s)", repo)
}

// describe returns the result of pkg.mod_repo.
func describe(repo string, e *entry, line string) *data.Map {
	r := e.repo()
	r.Delete("dist")
	return data.NewMap(repo, data.NewMap("architectures", r.Value("architectures"),
		"comps", r.Value("comps"), "disabled", r.Value("disabled"),
		"file", r.Value("file"), "type", r.Value("type"), "uri", r.Value("uri"), "line",
		fmt.Sprintln(line), "signedby", r.Value("signedby")))
}
