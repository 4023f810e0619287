package docker

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
)

type buildArgs struct {
	Path        any  `default:"None"`
	Repository  any  `default:"None"`
	Tag         any  `default:"None"`
	Cache       bool `default:"True"`
	Rm          bool `default:"True"`
	APIResponse bool `default:"False"`
	Fileobj     any  `default:"None"`
	Dockerfile  any  `default:"None"`
	Buildargs   any  `default:"None"`
}

// build makes an image of a Dockerfile.
//
// path
//
//	A directory with the Dockerfile, or a URL that the engine fetches.
//
// repository, tag
//
//	The name of the image.
//
// cache
//
//	False builds each step anew.
//
// rm
//
//	False keeps the containers of the steps, and names them under Intermediate_Containers.
//
// api_response
//
//	What the engine said, under API_Response.
//
// dockerfile
//
//	The file in the directory, if it is not named Dockerfile.
//
// buildargs
//
//	A dictionary of arguments for the Dockerfile.
//
// CLI Example:
//
//	salt myminion docker.build /path/to/docker/build/dir
//	salt myminion docker.build https://github.com/myuser/myrepo.git repository=myimage tag=latest
//	salt myminion docker.build /path/to/docker/build/dir dockerfile=Dockefile.different repository=myimage tag=latest
func (m *module) build(ctx context.Context, a buildArgs) (*data.Map, error) {
	if a.Fileobj != nil {
		return nil, loader.Invocation("fileobj is a file that only Python code can pass; give a path")
	}
	if !data.Truth(a.Repository) && data.Truth(a.Tag) {
		return nil, loader.Invocation("If tagging, both a repository and tag are required")
	}
	path := data.Str(a.Path)
	if !data.Truth(a.Path) {
		return nil, loader.Execution("Either path or fileobj needs to be provided.")
	}
	full := any(nil)
	query := url.Values{"q": {"0"}, "rm": {flag(a.Rm)}, "nocache": {flag(!a.Cache)}, "forcerm": {"0"}, "pull": {"0"}}
	if data.Truth(a.Repository) && data.Truth(a.Tag) {
		full = data.Str(a.Repository) + ":" + data.Str(a.Tag)
		query.Set("t", full.(string))
	}
	if err := setBuildArgs(query, a.Buildargs); err != nil {
		return nil, err
	}
	r := docker.Request{Method: http.MethodPost, Path: "/build", Query: query, Type: "application/tar"}
	name := ""
	if data.Truth(a.Dockerfile) {
		name = data.Str(a.Dockerfile)
		query.Set("dockerfile", name)
	}
	if remote(path) {
		query.Set("remote", path)
		r.Type = ""
	} else {
		pack, err := newPacker(path, name)
		if err != nil {
			return nil, loader.Execution("Unable to perform build: %w", err)
		}
		defer pack.root.Close()
		reader, writer := io.Pipe()
		go func() { writer.CloseWithError(pack.write(writer)) }()
		defer reader.Close()
		r.Raw = reader
	}
	started := time.Now()
	events, err := m.events(ctx, "build", r)
	if err != nil {
		return nil, err
	}
	ret := data.NewMap("Time_Elapsed", time.Since(started).Seconds())
	errs := buildEvents(ret, events)
	if !ret.Has("Id") {
		message := "Build failed for " + path
		if len(errs) > 0 {
			message += ". Error(s) follow:\n\n" + strings.Join(errs, "\n\n")
		}
		return nil, loader.Execution("%s", message)
	}
	tags, err := m.resolveTag(ctx, resolveTagArgs{Name: ret.Text("Id"), Kwargs: data.NewMap("all", true)})
	if err != nil {
		return nil, err
	}
	if data.Truth(tags) {
		ret.Set("Image", tags)
	} else {
		ret.Set("Warning", "Failed to tag image as "+data.Str(full))
	}
	if a.APIResponse {
		ret.Set("API_Response", maps(events))
	}
	if a.Rm {
		ret.Delete("Intermediate_Containers")
	}
	return ret, nil
}

func setBuildArgs(query url.Values, v any) error {
	if !data.Truth(v) {
		return nil
	}
	args, ok := v.(*data.Map)
	if !ok {
		return loader.TypeError("buildargs must be a dictionary")
	}
	all := data.NewMap()
	for k, v := range args.All() {
		all.Set(k, data.Str(v))
	}
	text, err := pyjson.Append(nil, all, pyjson.Options{Comma: ",", Colon: ":"})
	query.Set("buildargs", string(text))
	return err
}

// buildEvents adds to ret what the messages of a build tell, and returns the errors among them.
func buildEvents(ret *data.Map, events []*data.Map) []string {
	p := progress{ret: ret}
	var errs []string
	for _, event := range events {
		switch first(event) {
		case "status":
			p.pulled(event)
		case "errorDetail":
			errs = append(errs, detail(event))
		case "stream":
			line := strings.TrimSpace(event.Text("stream"))
			words := strings.Fields(line)
			if strings.Contains(line, "Running in") {
				ret.Set("Intermediate_Containers", append(list(ret.Value("Intermediate_Containers")), words[len(words)-1]))
			}
			if strings.Contains(line, "Successfully built") {
				ret.Set("Id", words[len(words)-1])
			}
		}
	}
	return errs
}

// remote reports whether the engine fetches a path itself.
func remote(path string) bool {
	for _, prefix := range []string{"http://", "https://", "git://", "github.com/", "git@"} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

// A packer writes the files of a directory that a build may use.
type packer struct {
	dir    string
	root   *os.Root // dir
	always []string // files that no rule leaves out
	rules  []rule
}

// A rule of .dockerignore.
type rule struct {
	expr *regexp.Regexp
	keep bool // the rule begins with !
}

// ignoreLimit is the size that a .dockerignore may have.
const ignoreLimit = 1 << 20

func newPacker(dir, dockerfile string) (*packer, error) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return nil, errors.New("You must specify a directory to build in path") //nolint:staticcheck // docker's text
	}
	if dockerfile == "" {
		dockerfile = "Dockerfile"
	}
	text, err := readFile(filepath.Join(dir, ".dockerignore"), ignoreLimit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rules, err := ignoreRules(string(text))
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &packer{dir: dir, root: root, rules: rules,
		always: []string{".dockerignore", filepath.ToSlash(filepath.Clean(dockerfile))}}, nil
}

// ignoreRules reads a .dockerignore.
func ignoreRules(text string) ([]rule, error) {
	var rules []rule
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		line, keep := strings.CutPrefix(line, "!")
		line = strings.TrimPrefix(filepath.ToSlash(filepath.Clean(strings.TrimSpace(line))), "/")
		expr, err := regexp.Compile(ignoreExpr(line))
		if err != nil {
			return nil, fmt.Errorf("read .dockerignore: %q: %w", line, err)
		}
		rules = append(rules, rule{expr, keep})
	}
	return rules, nil
}

// ignoreExpr returns an expression for a pattern: ** stands for any directories, * and ? for characters
// other than /. What lies below a matching directory matches too.
func ignoreExpr(pattern string) string {
	var b strings.Builder
	b.WriteString("^")
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], "**/"):
			b.WriteString("(.*/)?")
			i += 2
		case strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '[' || c == ']' || c == '-' || c == '^':
			b.WriteByte(c)
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return b.String() + "(/.*)?$"
}

// ignored reports whether the last rule that a path matches leaves it out.
func (p *packer) ignored(path string) bool {
	for _, name := range p.always {
		if path == name {
			return false
		}
	}
	out := false
	for _, r := range p.rules {
		if r.expr.MatchString(path) {
			out = !r.keep
		}
	}
	return out
}

// write writes the archive.
func (p *packer) write(w io.Writer) error {
	archive := tar.NewWriter(w)
	err := filepath.WalkDir(p.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(p.dir, path)
		if err != nil || name == "." {
			return err
		}
		if name = filepath.ToSlash(name); p.ignored(name) {
			return nil // a directory may have files that a later rule keeps
		}
		return p.add(archive, path, name, entry)
	})
	if err != nil {
		return err
	}
	return archive.Close()
}

func (p *packer) add(archive *tar.Writer, path, name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	target := ""
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		if target, err = os.Readlink(path); err != nil {
			return err
		}
	case !info.Mode().IsRegular() && !info.IsDir():
		return nil // sockets and devices have no place in an image
	}
	h, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	h.Name, h.Uid, h.Gid, h.Uname, h.Gname = name, 0, 0, "", ""
	if info.IsDir() {
		h.Name += "/"
	}
	if err := archive.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
		return err
	}
	// the file may have become a link or a pipe since
	f, err := p.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		return errors.Join(err, fmt.Errorf("%s has become another file", path))
	}
	_, err = io.Copy(archive, f)
	return err
}
