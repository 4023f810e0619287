//go:build unix

package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

type sourceListArgs struct {
	Source     any
	SourceHash any
	Saltenv    any
}

// sourceList returns the first of a list of sources that is there, with its source_hash. What is no list is returned as it is. An
// element of the list may be a dictionary of one source and its source_hash.
//
// CLI Example:
//
//	salt '*' file.source_list salt://http/httpd.conf '{hash_type: 'md5', 'hsum': <md5sum>}' base
func (m *module) sourceList(ctx context.Context, a sourceListArgs) (any, error) {
	source, hash, err := m.pick(ctx, a)
	if err != nil {
		return nil, err
	}
	return data.Tuple{source, hash}, nil
}

func (m *module) pick(ctx context.Context, a sourceListArgs) (source, hash any, err error) {
	list, ok := a.Source.([]any)
	if !ok {
		return a.Source, a.SourceHash, nil
	}
	for _, v := range list {
		source, hash := v, a.SourceHash
		if one, ok := v.(*data.Map); ok {
			if one.Len() != 1 {
				continue
			}
			var own any
			if source, own = one.At(0); data.Truth(own) {
				hash = own
			}
		}
		name, ok := source.(string)
		if !ok {
			continue
		}
		there, err := m.available(ctx, name, data.Str(a.Saltenv))
		if err != nil {
			return nil, nil, err
		}
		if there {
			return name, hash, nil
		}
	}
	return nil, nil, loader.Execution("none of the specified sources were found")
}

// available reports whether there is such a source.
func (m *module) available(ctx context.Context, source, saltenv string) (bool, error) {
	switch scheme := fileclient.Scheme(source); {
	case scheme == "salt":
		path, env, _ := fileclient.ParseURL(source)
		if env == "" {
			env = saltenv
		}
		for _, fun := range []string{"cp.list_master", "cp.list_master_dirs"} {
			v, err := m.env.Call(ctx, fun, []any{env}, nil)
			if err != nil {
				return false, err
			}
			if list, _ := v.([]any); slices.Contains(list, any(path)) {
				return true, nil
			}
		}
		return false, nil
	case scheme == "file":
		return paths.Exists(filePath(source)), nil
	case strings.HasPrefix(scheme, "http"), scheme == "ftp":
		v, err := m.env.Call(ctx, "cp.cache_file", []any{source, saltenv}, nil)
		return err == nil && data.Truth(v), nil //nolint:nilerr // one that cannot be had is not there
	}
	return strings.HasPrefix(source, "/") && paths.Exists(source), nil
}

// filePath returns the path of a file:// URL.
func filePath(url string) string {
	_, path, _ := strings.Cut(url, "://")
	return strings.TrimRight(path, "/")
}

type applyArgs struct {
	Contents any
	Template any
	Context  any
	Defaults any
	Saltenv  any
}

// applyTemplateOnContents returns what a template becomes whose text is given. context hides defaults. An engine that is not there is
// told in a dictionary.
//
// CLI Example:
//
//	salt '*' file.apply_template_on_contents contents='This is a {{ template }} string.' template=jinja "context={}" "defaults={'template': 'cool'}" saltenv=base
func (m *module) applyTemplateOnContents(ctx context.Context, a applyArgs) (any, error) {
	if a.Template != "jinja" {
		return data.NewMap("result", false, "comment", "Specified template format "+data.Str(a.Template)+" is not supported"), nil
	}
	e, err := m.engine()
	if err != nil {
		return nil, err
	}
	in := render.Input{Text: data.Str(a.Contents), SaltEnv: data.Str(a.Saltenv), Vars: variables(nil, a.Defaults, a.Context)}
	text, err := e.Template(ctx, "jinja", in)
	if err != nil {
		return nil, renderError(err)
	}
	return text, nil
}

// renderError returns an error of a template as Salt's exception of it.
func renderError(err error) error {
	if bad, ok := errors.AsType[*render.Error](err); ok {
		return loader.Exception("salt.exceptions.SaltRenderError", "%w", bad)
	}
	return err
}

// variables returns those of templates; later ones hide earlier ones.
func variables(named *data.Map, more ...any) map[string]any {
	vars := map[string]any{}
	maps := []*data.Map{named}
	for _, v := range more {
		m, _ := v.(*data.Map)
		maps = append(maps, m)
	}
	for _, m := range maps {
		for k, v := range m.All() {
			if name, ok := k.(string); ok {
				vars[name] = v
			}
		}
	}
	return vars
}

type managedArgs struct {
	Name           string
	Template       any
	Source         any
	SourceHash     any
	SourceHashName any
	User           any
	Group          any
	Mode           any
	Attrs          any
	Saltenv        any
	Context        any
	Defaults       any
	SkipVerify     bool      `default:"False"`
	VerifySSL      bool      `name:"verify_ssl" default:"True"`
	UseETag        bool      `name:"use_etag" default:"False"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// getManaged fetches the source of a file that is to be managed, renders it where there is a template engine, and returns where it
// is, its hash as a dictionary with hash_type and hsum, and a text that says what went wrong. A file of the file server that is no
// template is not fetched yet: then there is no place.
//
// CLI Example:
//
//	salt '*' file.get_managed /etc/httpd/conf.d/httpd.conf jinja salt://http/httpd.conf '{hash_type: 'md5', 'hsum': <md5sum>}' None root root '755' base None None
func (m *module) getManaged(ctx context.Context, a managedArgs) (any, error) {
	g, err := m.got(ctx, a)
	if err != nil {
		return nil, err
	}
	var file any = g.file
	return data.Tuple{file, g.sum, g.comment}, nil
}

// What was got of a source.
type got struct {
	file    string
	sum     *data.Map
	comment string
}

func (m *module) got(ctx context.Context, a managedArgs) (got, error) {
	g := got{sum: data.NewMap()}
	if !data.Truth(a.Source) {
		return g, nil
	}
	source := data.Str(a.Source)
	scheme := fileclient.Scheme(source)
	if !slices.Contains(validProtos(), scheme) {
		scheme = ""
	}
	if err := m.sum(ctx, a, &g, source, scheme); err != nil || g.comment != "" {
		return g, err
	}
	remote := slices.Contains([]string{"http", "https", "ftp", "swift", "s3"}, scheme)
	if !remote && !data.Truth(a.Template) {
		return g, nil
	}
	if err := m.fetch(ctx, a, &g, source); err != nil || g.comment != "" {
		return g, err
	}
	if g.file == a.Name {
		return g, loader.Invocation("Source file cannot be the same as destination")
	}
	if !data.Truth(a.Template) {
		return g, nil
	}
	return g, m.rendered(ctx, a, &g)
}

// sum finds out which hash the source has, and where it is when it is a file of this host.
func (m *module) sum(ctx context.Context, a managedArgs, g *got, source, scheme string) error {
	switch scheme {
	case "":
		g.file = source
	case "file":
		g.file = filePath(source)
	}
	local := scheme == "" || scheme == "file"
	switch {
	case local && !paths.Exists(g.file):
		g.comment, g.file = "Local file source "+g.file+" does not exist", ""
	case scheme == "salt":
		v, err := m.env.Call(ctx, "cp.hash_file", []any{source, a.Saltenv}, nil)
		if err != nil {
			return err
		}
		found, _ := v.(*data.Map)
		if found.Len() == 0 {
			g.comment = fmt.Sprintf("Source file %s not found in saltenv '%s'", source, data.Str(a.Saltenv))
			return nil
		}
		g.sum = found.Clone()
	case local && !data.Truth(a.SourceHash):
		return g.hash("sha256")
	case a.SkipVerify:
	case data.Truth(a.SourceHash):
		sum, err := m.sourceSum(ctx, sourceSumArgs{a.Name, source, a.SourceHash, a.SourceHashName, a.Saltenv, a.VerifySSL})
		if loader.KindOf(err) == loader.KindExecution {
			g.comment, g.file = err.Error(), ""
			return nil
		}
		g.sum = sum
		return err
	case !a.UseETag:
		g.comment = "Unable to verify upstream hash of source file " + fileclient.Redact(source) + ", please set source_hash or set skip_verify to True"
	}
	return nil
}

func (g *got) hash(kind string) error {
	sum, err := hashFile(g.file, kind)
	if err == nil {
		g.sum = data.NewMap("hsum", sum, "hash_type", kind)
	}
	return err
}

// fetch brings a template, or a file of a web server, to the cache, unless a copy in it will do.
func (m *module) fetch(ctx context.Context, a managedArgs, g *got, source string) error {
	v, err := m.env.Call(ctx, "cp.is_cached", []any{source, a.Saltenv}, nil)
	if err != nil {
		return err
	}
	again := false
	if cached := data.Str(v); data.Truth(v) && (data.Truth(a.SourceHash) || a.SkipVerify || a.UseETag) {
		kind := g.sum.Text("hash_type")
		if kind == "" {
			kind = "sha256"
		}
		sum, err := hashFile(cached, kind)
		switch {
		case err != nil:
			return err
		case a.SkipVerify:
			g.file, g.sum = cached, data.NewMap("hsum", sum, "hash_type", kind)
		case a.UseETag || sum != g.sum.Value("hsum"):
			again = true
		default:
			g.file = cached
		}
	}
	if g.file != "" && !again {
		return nil
	}
	v, err = m.env.Call(ctx, "cp.cache_file", []any{source, a.Saltenv},
		data.NewMap("source_hash", g.sum.Value("hsum"), "verify_ssl", a.VerifySSL, "use_etag", a.UseETag))
	if err != nil {
		g.comment = fmt.Sprintf("Failed to cache %s: %s", fileclient.Redact(source), err)
		g.file, g.sum = "", data.NewMap()
		return nil
	}
	if g.file = data.Str(v); !data.Truth(v) || !paths.Exists(g.file) {
		g.comment = "Source file '" + fileclient.Redact(source) + "' not found"
		g.file, g.sum = "", data.NewMap()
	}
	return nil
}

// rendered puts what the template becomes into a file of its own.
func (m *module) rendered(ctx context.Context, a managedArgs, g *got) error {
	if a.Template != "jinja" {
		g.comment, g.sum = "Specified template format "+data.Str(a.Template)+" is not supported", data.NewMap()
		return nil
	}
	e, err := m.engine()
	if err != nil {
		return err
	}
	src, err := os.ReadFile(g.file)
	if err != nil {
		return osError(err)
	}
	named := data.NewMap("name", a.Name, "source", a.Source, "user", a.User, "group", a.Group, "mode", a.Mode, "attrs", a.Attrs)
	named.Update(a.Kwargs)
	in := render.Input{Text: string(src), Path: g.file, SaltEnv: data.Str(a.Saltenv), Vars: variables(named, a.Defaults, a.Context)}
	text, err := e.Template(ctx, "jinja", in)
	if err != nil {
		return renderError(err)
	}
	if g.file, err = temporary([]byte(text)); err != nil {
		return osError(err)
	}
	return g.hash("sha256")
}

// isText reports whether a file is text to Salt, by its first bytes (salt/utils/files.py, is_text).
func isText(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	block := make([]byte, 512)
	n, err := f.Read(block)
	if err != nil && n == 0 {
		info, err := f.Stat()
		return err == nil && info.Size() == 0
	}
	block = block[:n]
	odd := 0
	for _, c := range block {
		switch {
		case c == 0:
			return false
		case c < 32 && !strings.ContainsRune("\n\r\t\f\b", rune(c)), c >= 127:
			odd++
		}
	}
	return utf8.Valid(block) || float64(odd)/float64(n) <= 0.3
}

// where returns a path without ~ at its beginning and without links.
func where(path string) string { return realPath(filepath.Clean(home(path)), 0) }
