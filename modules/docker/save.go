package docker

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

type saveArgs struct {
	Name        string
	Path        any
	Overwrite   bool      `default:"False"`
	Makedirs    bool      `default:"False"`
	Compression any       `default:"None"`
	Kwargs      *data.Map `kwargs:"kwargs"`
}

// save writes an image into a file that docker.load reads. Only its owner may read the file.
//
// overwrite, makedirs
//
//	Replace a file that is there; make its directory.
//
// compression
//
//	gzip, bzip2 or xz. Without it the ending of the file decides.
//
// push
//
//	Send the file to the master too.
//
// CLI Example:
//
//	salt myminion docker.save centos:7 /tmp/cent7.tar
//	salt myminion docker.save 0123456789ab cdef01234567 /tmp/saved.tar
func (m *module) save(ctx context.Context, a saveArgs) (*data.Map, error) {
	return m.store(ctx, a, "Parent dir '%s' of destination path does not exist. Use makedirs=True to create it.",
		func() (*http.Response, error) {
			found, err := m.inspectImage(ctx, nameArgs{a.Name})
			if err != nil {
				return nil, err
			}
			name := a.Name
			if !slices.Contains(list(found.Value("RepoTags")), any(name)) {
				name = found.Text("Id")
			}
			return m.fetch(ctx, "get_image", docker.Path("images", name, "get"))
		})
}

// export writes the files of a container into a file.
//
// overwrite, makedirs
//
//	Replace a file that is there; make its directory.
//
// compression
//
//	gzip, bzip2 or xz. Without it the ending of the file decides.
//
// push
//
//	Send the file to the master too.
//
// CLI Example:
//
//	salt myminion docker.export mycontainer /tmp/mycontainer.tar
//	salt myminion docker.export mycontainer /tmp/mycontainer.tar.xz push=True
func (m *module) export(ctx context.Context, a saveArgs) (*data.Map, error) {
	return m.store(ctx, a, "Parent dir %s of destination path does not exist. Use makedirs=True to create it.",
		func() (*http.Response, error) {
			return m.fetch(ctx, "export", docker.Path("containers", a.Name, "export"))
		})
}

func (m *module) fetch(ctx context.Context, action, path string) (*http.Response, error) {
	e, err := m.engine(ctx)
	if err != nil {
		return nil, err
	}
	resp, err := e.Do(ctx, docker.Request{Method: http.MethodGet, Path: path, Silence: m.limits.work})
	return resp, m.failed(action, err)
}

// store writes what open returns into a file.
func (m *module) store(ctx context.Context, a saveArgs, noParent string, open func() (*http.Response, error)) (*data.Map, error) {
	path, ok := a.Path.(string)
	if !ok || !filepath.IsAbs(path) {
		return nil, loader.Invocation("Path '%s' is not absolute", data.Str(a.Path))
	}
	if _, err := os.Lstat(path); err == nil && !a.Overwrite {
		return nil, loader.Execution("%s already exists", path)
	}
	compression, err := compressionOf(path, a.Compression)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		if !a.Makedirs {
			return nil, loader.Execution(noParent, dir)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, loader.Execution("Unable to make parent dir %s: %w", dir, err)
		}
	}
	started := time.Now()
	resp, err := open()
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	size, err := m.write(ctx, path, compression, 0o600, resp.Body)
	if err != nil {
		return nil, loader.Execution("write %s: %w", path, err)
	}
	ret := data.NewMap("Time_Elapsed", time.Since(started).Seconds(), "Path", path, "Size", size, "Size_Human", human(size))
	if data.Truth(a.Kwargs.Value("push")) {
		pushed, err := m.env.Call(ctx, "cp.push", []any{path}, nil)
		if err != nil {
			return nil, err
		}
		ret.Set("Push", pushed)
	}
	return ret, nil
}

func compressionOf(path string, v any) (string, error) {
	if v == nil {
		for _, ending := range [][2]string{{".tar.gz", "gzip"}, {".tgz", "gzip"}, {".tar.bz2", "bzip2"}, {".tbz2",
			"bzip2"}, {".tar.xz", "xz"}, {".txz", "xz"}} {
			if strings.HasSuffix(path, ending[0]) {
				return ending[1], nil
			}
		}
		return "", nil
	}
	name := data.Str(v)
	for _, pair := range [][2]string{{"gz", "gzip"}, {"bz2", "bzip2"}, {"lzma", "xz"}} {
		if name == pair[0] {
			name = pair[1]
		}
	}
	if !slices.Contains([]string{"", "gzip", "bzip2", "xz"}, name) {
		return "", loader.Invocation("Invalid compression type '%s'", name)
	}
	return name, nil
}

// write writes a file with these permissions, as a whole or not at all. It returns the size.
func (m *module) write(
	ctx context.Context, path, compression string, mode fs.FileMode, from io.Reader,
) (int64, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name()) // not there any more after a success
	defer f.Close()
	switch compression {
	case "":
		_, err = io.Copy(f, from)
	case "gzip":
		w := gzip.NewWriter(f)
		if _, err = io.Copy(w, from); err == nil {
			err = w.Close()
		}
	default:
		err = m.compress(ctx, compression, f, from)
	}
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if err := errors.Join(f.Chmod(mode), f.Sync()); err != nil {
		return 0, err
	}
	return info.Size(), os.Rename(f.Name(), path)
}

// compress runs bzip2 or xz.
func (m *module) compress(ctx context.Context, program string, to io.Writer, from io.Reader) error {
	path := process.Find(program)
	if path == "" {
		return errors.New("the program " + program + " is not installed")
	}
	cmd := exec.Command(path, "-c")
	cmd.Stdin, cmd.Stdout = from, to
	run := m.env.Run
	if run == nil {
		run = process.Run
	}
	return run(ctx, cmd)
}

type loadArgs struct {
	Path       string
	Repository any `default:"None"`
	Tag        any `default:"None"`
}

// load reads the images of a file that docker.save wrote.
//
// path
//
//	An absolute path on the minion, or a salt:// path.
//
// repository, tag
//
//	Give this tag to the image.
//
// CLI Example:
//
//	salt myminion docker.load /path/to/archive.tar
//	salt myminion docker.load salt://path/to/docker/saved/image.tar repository=myuser/myimage tag=mytag
func (m *module) load(ctx context.Context, a loadArgs) (*data.Map, error) {
	if data.Truth(a.Repository) != data.Truth(a.Tag) {
		return nil, loader.Invocation("If tagging, both a repository and tag are required")
	}
	local, err := m.cached(ctx, a.Path)
	if err != nil {
		return nil, err
	}
	f, err := openFile(local)
	if err != nil {
		return nil, loader.Execution("Source file %s does not exist", a.Path)
	}
	defer f.Close()
	pre, err := m.allImages(ctx)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	events, err := m.events(ctx, "load_image", docker.Request{Method: http.MethodPost, Path: "/images/load", Raw: f,
		Type: "application/x-tar"})
	ret := data.NewMap("Time_Elapsed", time.Since(started).Seconds())
	for _, event := range events {
		if event.Has("errorDetail") {
			err = errors.New(detail(event))
		}
	}
	if err != nil {
		return nil, loader.Execution("Failed to load image(s) from %s: %w", a.Path, err)
	}
	post, err := m.allImages(ctx)
	if err != nil {
		return nil, err
	}
	ret.Set("Path", a.Path)
	made := without(post.Keys(), pre.Keys())
	layers := []any{}
	for _, id := range made {
		layers = append(layers, short(id))
	}
	ret.Set("Layers", layers)
	if a.Repository != nil {
		m.tagLoaded(ctx, ret, topLevel(post, made), data.Str(a.Repository), data.Str(a.Tag))
	}
	return ret, nil
}

// tagLoaded gives a tag to the image that was loaded, if it is one.
func (m *module) tagLoaded(ctx context.Context, ret *data.Map, top []any, repository, tag string) {
	switch len(top) {
	case 0:
		ret.Set("Warning", "No top-level image layers were loaded, no image was tagged")
	case 1:
		full := repository + ":" + tag
		if _, err := m.tag(ctx, tagArgs{Name: data.Str(top[0]), Repository: repository, Tag: tag}); err != nil {
			ret.Set("Warning", "Failed to tag "+data.Str(top[0])+" as "+full+": "+err.Error())
			return
		}
		ret.Set("Image", full)
	default:
		ret.Set("Warning", "More than one top-level image layer was loaded ("+strings.Join(data.Texts(top), ", ")+"), no image was tagged")
	}
}

// openFile opens a regular file to read. A pipe would wait for its writer.
func openFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		return f, nil
	}
	return nil, errors.Join(err, f.Close(), fmt.Errorf("%s is no regular file", path))
}

// readFile returns the content of a regular file that may have limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return text, err
}

// cached returns the path of a file on the minion, which is fetched if it is one of the master.
func (m *module) cached(ctx context.Context, source string) (string, error) {
	if !strings.HasPrefix(source, "salt://") {
		return source, nil
	}
	path, err := calls.CacheFile(ctx, m.env, calls.Source{Path: source})
	if err == nil && path == "" {
		err = loader.Execution("Unable to cache %s", source)
	}
	return path, err
}

type importArgs struct {
	Source      string
	Repository  string
	Tag         string `default:"'latest'"`
	APIResponse bool   `default:"False"`
}

// importImage makes an image of a file that docker.export wrote.
//
// source
//
//	A path on the minion, a salt:// path, or a URL that the engine fetches.
//
// repository, tag
//
//	The name of the image.
//
// api_response
//
//	What the engine said, under API_Response.
//
// CLI Example:
//
//	salt myminion docker.import /tmp/cent7-minimal.tar.xz myuser/centos
//	salt myminion docker.import /tmp/cent7-minimal.tar.xz myuser/centos:7
//	salt myminion docker.import salt://dockerimages/cent7-minimal.tar.xz myuser/centos:7
func (m *module) importImage(ctx context.Context, a importArgs) (*data.Map, error) {
	local, err := m.cached(ctx, a.Source)
	if err != nil {
		return nil, err
	}
	r := docker.Request{Method: http.MethodPost, Path: "/images/create", Query: url.Values{"repo": {a.Repository},
		"tag": {a.Tag}, "fromSrc": {local}}}
	if f, err := openFile(local); err == nil {
		defer f.Close()
		r.Raw, r.Type = f, "application/tar"
		r.Query.Set("fromSrc", "-")
	}
	started := time.Now()
	events, err := m.events(ctx, "import_image", r)
	if err != nil {
		return nil, err
	}
	ret := data.NewMap("Time_Elapsed", time.Since(started).Seconds())
	if a.APIResponse {
		ret.Set("API_Response", maps(events))
	}
	var errs []string
	for _, event := range events {
		switch id := event.Text("status"); {
		case first(event) == "errorDetail":
			errs = append(errs, detail(event))
		case isID(id):
			ret.Set("Image", a.Repository+":"+a.Tag)
			ret.Set("Id", id)
		}
	}
	if !ret.Has("Id") {
		message := "Import failed for " + a.Source
		if len(errs) > 0 {
			message += ". Error(s) follow:\n\n" + strings.Join(errs, "\n\n")
		}
		return nil, loader.Execution("%s", message)
	}
	return ret, nil
}

// isID reports whether a message is the ID of an image.
func isID(text string) bool {
	text = strings.TrimPrefix(text, "sha256:")
	return text != "" && strings.Trim(text, "0123456789abcdefABCDEF") == ""
}
