package aptsources

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type modRepoArgs struct {
	Repo    string
	Saltenv any       `default:"'base'"`
	Aptkey  any       `default:"True"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// modRepo changes a source, or adds it if no source matches, and returns the resulting source. On
// Ubuntu, ppa:OWNER/NAME names a personal archive at Launchpad.
//
// architectures, comps
//
//	Separated by commas; they replace those in the line.
//
// file
//
//	The file for the source. Default: its current file, or sources.list. If the name ends in
//	.sources, a stanza is written.
//
// disabled, enabled
//
//	Whether apt uses the source.
//
// comments
//
//	A string or a list, appended to the source as a comment.
//
// keyid, keyserver
//
//	A key or a list of keys on that server that sign the source.
//
// key_url, key_text
//
//	The URL of the key (salt:// is possible), or the key itself.
//
// aptkey
//
//	False: store the key in the file that signed-by names instead of in apt-key. This is always so
//	if there is no apt-key.
//
// consolidate
//
//	True: first move all lines to sources.list, without duplicates, and remove the other .list
//	files.
//
// refresh
//
//	False: do not refresh the package lists.
//
// CLI Example:
//
//	salt '*' pkg.mod_repo 'deb http://deb.debian.org/debian bookworm main' comps=main,contrib
func (m *module) modRepo(ctx context.Context, a modRepoArgs) (any, error) {
	kwargs := packages.Own(a.Kwargs)
	refresh := data.Truth(packages.Take(kwargs,
		"refresh_db", packages.Take(kwargs, "refresh", true)))
	aptKey, err := m.useAptKey(ctx, a.Aptkey)
	if err != nil {
		return nil, err
	}
	repo := a.Repo
	if isPPA(repo) {
		done, line, err := m.ppa(ctx, repo, kwargs, refresh)
		if err != nil || done != nil {
			return done, err
		}
		repo = line
	}
	def := parseLine(repo, mainFile)
	if def.invalid {
		return nil, loader.Invocation("Name %s is not valid. This must be the complete repo entry as seen in the sources file", repo)
	}
	keys := wantedKeys{ring: ringOf(def.signedBy(), aptKey), saltenv: data.Str(a.Saltenv),
		kwargs: kwargs}
	if err := m.addKeys(ctx, keys); err != nil {
		return nil, err
	}
	e, err := m.put(repo, def, kwargs)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	if refresh {
		if err := calls.RefreshDB(ctx, m.env); err != nil {
			return nil, err
		}
	}
	return describe(repo, e, repo), nil
}

// ppa adds a Launchpad archive with apt-add-repository and returns its result as done. If that
// program is missing, or ppa_auth is given, it returns the archive's source line instead.
func (m *module) ppa(
	ctx context.Context, repo string, kwargs *data.Map, refresh bool,
) (done any, line string, err error) {
	if !m.supportsPPA() {
		return nil, "", loader.Execution("cannot parse \"ppa:\" style repo definitions: %s", repo)
	}
	has, err := m.has(ctx, "apt-add-repository")
	if err != nil {
		return nil, "", err
	}
	if has && !kwargs.Has("ppa_auth") {
		done, err = m.addPPA(ctx, repo, refresh)
		return done, "", err
	}
	line, err = m.expandPPA(ctx, repo, kwargs)
	return nil, line, err
}

// put writes a source to its file with the requested values.
func (m *module) put(repo string, def *entry, kwargs *data.Map) (*entry, error) {
	s, err := m.loadWith(kwargs)
	if err != nil {
		return nil, err
	}
	if data.Truth(kwargs.Value("consolidate")) {
		s.consolidate()
	}
	e := s.match(def, kwargs)
	if e == nil {
		e = parseLine(repo, mainFile)
		e.changed = true
		s.entries = append(s.entries, e)
	}
	e.apply(def, kwargs)
	return e, m.save(s)
}

// loadWith loads all sources, and the file named by the arguments, which apt need not read.
func (m *module) loadWith(kwargs *data.Map) (*sources, error) {
	s, err := m.load()
	file := kwargs.Text("file")
	if _, known := s.readFile(file); err != nil || file == "" || known {
		return s, err
	}
	if err := s.add(m.path(file), file); err != nil {
		return nil, fmt.Errorf("read sources: %w", err)
	}
	return s, nil
}

func (s *sources) readFile(file string) (string, bool) {
	if s == nil {
		return "", false
	}
	text, ok := s.read[file]
	return text, ok
}

// match returns the source that a definition changes. It has the same type, URI and suite, and
// shares a component, has none, or has other architectures.
func (s *sources) match(def *entry, kwargs *data.Map) *entry {
	comps := def.comps
	if v, ok := kwargs.Get("comps"); ok {
		comps = slices.Concat(comps, words(v))
	}
	archs := wantedArchitectures(def, kwargs)
	for _, e := range s.valid() {
		if e.sameOrMoved(def, kwargs) &&
			(intersects(e.comps, comps) || len(e.comps) == 0 ||
				!slices.Equal(archs, e.architectures())) {
			return e
		}
	}
	return nil
}

// sameOrMoved is like same, but the argument dist may name another suite than the definition.
func (e *entry) sameOrMoved(def *entry, kwargs *data.Map) bool {
	if e.same(def) {
		return true
	}
	moved := *def
	moved.dist = data.Str(kwargs.Value("dist"))
	return kwargs.Has("dist") && e.same(&moved)
}

func wantedArchitectures(def *entry, kwargs *data.Map) []string {
	if v, ok := kwargs.Get("architectures"); ok {
		return words(v)
	}
	return def.architectures()
}

// apply sets an entry to the values of a definition and the arguments.
func (e *entry) apply(def *entry, kwargs *data.Map) {
	comps := def.comps
	if v, ok := kwargs.Get("comps"); ok {
		comps = words(v)
	}
	if !slices.Equal(comps, e.comps) {
		e.comps, e.changed = comps, true
	}
	e.setOption("arch", strings.Join(wantedArchitectures(def, kwargs), ","))
	e.setOption("signed-by", def.signedBy())
	e.setOthers(def.others())
	set(e, &e.uri, def.uri)
	if v, ok := kwargs.Get("dist"); ok {
		set(e, &e.dist, data.Str(v))
	}
	if v, ok := kwargs.Get("file"); ok {
		set(e, &e.file, data.Str(v))
	}
	if v, ok := kwargs.Get("comments"); ok {
		set(e, &e.comment, combined(v))
	}
	if v, ok := disabled(kwargs); ok && v != e.disabled {
		e.disabled, e.changed = v, true
	}
}

func set(e *entry, field *string, value string) {
	if *field != value {
		*field, e.changed = value, true
	}
}

// disabled returns whether the arguments disable a source, and whether they set this at all.
func disabled(kwargs *data.Map) (bool, bool) {
	if v, ok := kwargs.Get("disabled"); ok {
		return packages.True(v), true
	}
	v, ok := kwargs.Get("enabled")
	return !packages.True(v), ok
}

// combined joins comments into one line (salt/utils/pkg/deb.py, combine_comments).
func combined(v any) string {
	if list, ok := v.([]any); ok {
		return strings.TrimSpace(strings.Join(data.Texts(list), " "))
	}
	return strings.TrimSpace(data.Str(v))
}

// consolidate moves all lines to the main file. Each type, URI and suite appears once with all its
// components. Stanzas stay: they may contain values that a line cannot express.
func (s *sources) consolidate() {
	var kept []*entry
	first := map[string]*entry{}
	for _, e := range s.entries {
		switch {
		case stanzas(e.file):
			kept = append(kept, e)
			continue
		case e.invalid:
			continue
		}
		key := fmt.Sprintf("%q", append(e.architectures(), fmt.Sprint(e.disabled), e.kind,
			e.uri, e.dist))
		if one := first[key]; one != nil {
			for _, c := range e.comps {
				if !slices.Contains(one.comps, c) {
					one.comps, one.changed = append(one.comps, c), true
				}
			}
			continue
		}
		e.file, e.changed, first[key] = mainFile, e.changed || e.file != mainFile, e
		kept = append(kept, e)
	}
	s.entries = kept
}

// delRepo removes a source, or only the named components. A file that becomes empty is removed too.
//
// CLI Example:
//
//	salt '*' pkg.del_repo "deb http://deb.debian.org/debian bookworm main"
func (m *module) delRepo(ctx context.Context, a repoArgs) (any, error) {
	def, err := m.definition(a.Repo, a.Kwargs)
	if err != nil {
		return nil, err
	}
	repo := a.Repo
	ppa := isPPA(repo) && m.supportsPPA()
	if ppa {
		repo = strings.TrimSpace(def.text)
	}
	s, err := m.load()
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	files := s.removeComponents(def, ppa)
	if len(files) == 0 {
		return nil, noRepo(repo)
	}
	if err := m.save(s); err != nil {
		return nil, loader.Execution("%w", err)
	}
	comment := ""
	for _, file := range files {
		if strings.TrimSpace(s.text(file)) == "" && filepath.Dir(file) == dropDir {
			comment += fmt.Sprintf("File %s containing repo '%s' has been removed.", file, repo)
		} else {
			comment += fmt.Sprintf("Repo '%s' has been removed from %s.\n", repo, file)
		}
	}
	return comment, calls.RefreshDB(ctx, m.env)
}

// removeComponents removes the components of a definition from all matching sources, and returns
// the files in which it found any. With withSource true it also removes the source-package entries
// of that URI.
func (s *sources) removeComponents(def *entry, withSource bool) (files []string) {
	code := *def
	code.kind = "deb-src"
	for _, e := range s.valid() {
		alike := e.same(def) && slices.Equal(e.architectures(), def.architectures()) ||
			withSource && e.same(&code)
		if !alike || !intersects(e.comps, def.comps) && len(e.comps)+len(def.comps) > 0 {
			continue
		}
		files = with(files, e.file)
		e.comps = slices.DeleteFunc(slices.Clone(e.comps),
			func(c string) bool { return slices.Contains(def.comps, c) })
		e.changed = true
		if len(e.comps) == 0 {
			s.remove(e)
		}
	}
	return files
}
