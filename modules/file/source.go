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
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/render/template"
)

// sources fetches the sources of managed files.
type sources struct {
	env       *loader.Env
	hashes    hashes
	templates templates
}

type sourceListArgs struct {
	Source     any
	SourceHash any
	Saltenv    any
}

// sourceList returns the first available source of a list, with its source_hash. Other values are
// returned unchanged. An element of the list may be a dictionary of one source and its source_hash.
//
// CLI Example:
//
//	salt '*' file.source_list salt://http/httpd.conf '{hash_type: 'md5', 'hsum': <md5sum>}' base
func (m sources) sourceList(ctx context.Context, a sourceListArgs) (any, error) {
	source, hash, err := m.pick(ctx, a)
	if err != nil {
		return nil, err
	}
	return data.Tuple{source, hash}, nil
}

func (m sources) pick(ctx context.Context, a sourceListArgs) (source, hash any, err error) {
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

// available reports whether a source exists.
func (m sources) available(ctx context.Context, source, saltenv string) (bool, error) {
	switch scheme := fileclient.Scheme(source); {
	case scheme == "salt":
		path, env, _ := fileclient.ParseURL(source)
		if env == "" {
			env = saltenv
		}
		files, err := calls.ListMaster(ctx, m.env, env)
		if err != nil || slices.Contains(files, path) {
			return err == nil, err
		}
		dirs, err := calls.ListMasterDirs(ctx, m.env, env)
		return slices.Contains(dirs, path), err
	case scheme == "file":
		return paths.Exists(filePath(source)), nil
	case strings.HasPrefix(scheme, "http"), scheme == "ftp":
		path, err := calls.CacheFile(ctx, m.env, calls.Source{Path: source, SaltEnv: saltenv})
		return err == nil && path != "", nil //nolint:nilerr // an error means that it does not exist
	}
	return filepath.IsAbs(source) && paths.Exists(source), nil
}

// filePath returns the path of a file:// URL.
func filePath(url string) string {
	_, path, _ := strings.Cut(url, "://")
	path = strings.TrimRight(path, "/")
	if local, ok := strings.CutPrefix(path, "/"); ok && filepath.VolumeName(local) != "" {
		return local // file:///C:/a
	}
	return path
}

type applyArgs struct {
	Contents any
	Template any
	Context  any
	Defaults any
	Saltenv  any
}

// applyTemplateOnContents renders a text as a template. Values of context override those of
// defaults. An unknown engine is reported in a dictionary.
//
// CLI Example:
//
//	salt '*' file.apply_template_on_contents contents='This is a {{ template }} string.' template=jinja "context={}" "defaults={'template': 'cool'}" saltenv=base
func (m templates) applyTemplateOnContents(ctx context.Context, a applyArgs) (any, error) {
	if !template.IsEngine(a.Template) {
		return data.NewMap("result", false, "comment",
			"Specified template format "+data.Str(a.Template)+" is not supported"), nil
	}
	e, err := m.engine()
	if err != nil {
		return nil, err
	}
	in := render.Input{Text: data.Str(a.Contents), SaltEnv: data.Str(a.Saltenv),
		Vars: variables(nil, a.Defaults, a.Context)}
	text, err := e.Template(ctx, data.Str(a.Template), in)
	if err != nil {
		return nil, renderError(err)
	}
	return text, nil
}

// renderError converts a template error to Salt's exception.
func renderError(err error) error {
	if bad, ok := errors.AsType[*render.Error](err); ok {
		return loader.Exception("salt.exceptions.SaltRenderError", "%w", bad)
	}
	return err
}

// variables returns the variables for templates. Later maps override earlier ones.
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

// getManaged fetches the source of a managed file and renders it if a template engine is given. It
// returns the path, the hash as a dictionary with hash_type and hsum, and a text that describes an
// error. A file on the file server that is not a template is not fetched yet; its path is empty.
//
// CLI Example:
//
//	salt '*' file.get_managed /etc/httpd/conf.d/httpd.conf jinja salt://http/httpd.conf '{hash_type: 'md5', 'hsum': <md5sum>}' None root root '755' base None None
func (m sources) getManaged(ctx context.Context, a managedArgs) (any, error) {
	g, err := m.get(ctx, a)
	if err != nil {
		return nil, err
	}
	var file any = g.file
	return data.Tuple{file, g.sum, g.comment}, nil
}

// A got is the result of fetching a source.
type got struct {
	file    string
	sum     *data.Map
	comment string
}

func (m sources) get(ctx context.Context, a managedArgs) (got, error) {
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
	return g, m.templates.render(ctx, a, &g)
}

// sum determines the hash of the source, and the path of a source on this host.
func (m sources) sum(ctx context.Context, a managedArgs, g *got, source, scheme string) error {
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
		found, err := calls.HashFile(ctx, m.env, source, a.Saltenv)
		if err != nil {
			return err
		}
		if found.Len() == 0 {
			g.comment = fmt.Sprintf("Source file %s not found in saltenv '%s'", source,
				data.Str(a.Saltenv))
			return nil
		}
		g.sum = found.Clone()
	case local && !data.Truth(a.SourceHash):
		return g.hash("sha256")
	case a.SkipVerify:
	case data.Truth(a.SourceHash):
		sum, err := m.hashes.getSourceSum(ctx,
			sourceSumArgs{a.Name, source, a.SourceHash, a.SourceHashName,
				a.Saltenv, a.VerifySSL})
		if loader.KindOf(err) == loader.KindExecution {
			g.comment, g.file = err.Error(), ""
			return nil
		}
		g.sum = sum
		return err
	case !a.UseETag:
		g.comment = "Unable to verify upstream hash of source file " + fileclient.Redact(source) +
			", please set source_hash or set skip_verify to True"
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

// fetch caches a template or a file of a web server, unless the cached copy is good.
func (m sources) fetch(ctx context.Context, a managedArgs, g *got, source string) error {
	cached, err := calls.IsCached(ctx, m.env, source, a.Saltenv)
	if err != nil {
		return err
	}
	again := false
	if cached != "" && (data.Truth(a.SourceHash) || a.SkipVerify || a.UseETag) {
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
	file, err := calls.CacheFile(ctx, m.env, calls.Source{
		Path: source, SaltEnv: a.Saltenv, Hash: g.sum.Value("hsum"),
		NoVerify: !a.VerifySSL, UseETag: a.UseETag,
	})
	if err != nil {
		g.comment = fmt.Sprintf("Failed to cache %s: %s", fileclient.Redact(source), err)
		g.file, g.sum = "", data.NewMap()
		return nil
	}
	if g.file = file; file == "" || !paths.Exists(file) {
		g.comment = "Source file '" + fileclient.Redact(source) + "' not found"
		g.file, g.sum = "", data.NewMap()
	}
	return nil
}

// render writes the rendered template to a new temporary file.
func (m templates) render(ctx context.Context, a managedArgs, g *got) error {
	if !template.IsEngine(a.Template) {
		g.comment, g.sum = "Specified template format "+data.Str(a.Template)+
			" is not supported", data.NewMap()
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
	named := data.NewMap("name", a.Name, "source", a.Source, "user", a.User, "group", a.Group,
		"mode", a.Mode, "attrs", a.Attrs)
	named.Update(a.Kwargs)
	in := render.Input{Text: string(src), Path: g.file, SaltEnv: data.Str(a.Saltenv),
		Vars: variables(named), Context: variables(nil, a.Defaults, a.Context)}
	text, err := e.Template(ctx, data.Str(a.Template), in)
	if bad, ok := errors.AsType[*render.Error](err); ok && a.Template == "py" {
		g.comment, g.sum = bad.Error(), data.NewMap() // the traceback
		return nil
	}
	if err != nil {
		return renderError(err)
	}
	if g.file, err = temporary([]byte(text)); err != nil {
		return osError(err)
	}
	return g.hash("sha256")
}

// isText reports whether Salt considers a file text, by its first bytes (salt/utils/files.py,
// is_text).
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

// where expands ~ in a path and resolves its links.
func where(path string) string { return realPath(filepath.Clean(home(path)), 0) }
