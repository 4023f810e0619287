package docker

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"

	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
)

type copyFromArgs struct {
	Name      string
	Source    string
	Dest      string
	Overwrite bool `default:"False"`
	Makedirs  bool `default:"False"`
}

// copyFrom copies a file out of a container.
//
// source
//
//	The absolute path in the container.
//
// dest
//
//	The absolute path on the minion, or a directory there.
//
// overwrite, makedirs
//
//	Replace a file that is there; make its directory.
//
// CLI Example:
//
//	salt myminion docker.copy_from mycontainer /var/log/nginx/access.log /home/myuser
func (m *module) copyFrom(ctx context.Context, a copyFromArgs) (bool, error) {
	if err := m.isRunning(ctx, a.Name); err != nil {
		return false, err
	}
	if !filepath.IsAbs(a.Dest) {
		return false, loader.Invocation("Destination path must be absolute")
	}
	dest := a.Dest
	if info, err := os.Stat(dest); err == nil && info.IsDir() {
		dest = filepath.Join(dest, path.Base(a.Source))
	} else if dir := filepath.Dir(dest); !isDir(dir) {
		if !a.Makedirs {
			return false, loader.Invocation("Directory %s does not exist", dir)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return false, loader.Execution("Unable to make destination directory %s: %w", dir, err)
		}
	}
	if _, err := os.Lstat(dest); err == nil && !a.Overwrite {
		return false, loader.Execution("Destination path %s already exists. Use overwrite=True to overwrite it", dest)
	}
	if !path.IsAbs(a.Source) {
		return false, loader.Invocation("Source path must be absolute")
	}
	return true, m.take(ctx, a, dest)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// take writes a file of a container to a path of this host.
func (m *module) take(ctx context.Context, a copyFromArgs, dest string) error {
	e, err := m.engine(ctx)
	if err != nil {
		return err
	}
	resp, err := e.Do(ctx, docker.Request{Method: http.MethodGet, Path: docker.Path("containers", a.Name, "archive"),
		Query: url.Values{"path": {a.Source}}})
	if docker.StatusOf(err) == http.StatusNotFound {
		return loader.Invocation("Source file %s does not exist", a.Source)
	}
	if err != nil {
		return m.failed("get_archive", err)
	}
	defer resp.Body.Close()
	archive := tar.NewReader(resp.Body)
	h, err := archive.Next()
	if err != nil {
		return m.failed("get_archive", err)
	}
	if h.Typeflag != tar.TypeReg {
		return loader.Invocation("Source must be a regular file")
	}
	if _, err := m.write(ctx, dest, "", h.FileInfo().Mode().Perm(), archive); err != nil {
		return loader.Execution("write %s: %w", dest, err)
	}
	return nil
}

func (m *module) isRunning(ctx context.Context, name string) error {
	now, err := m.state(ctx, nameArgs{name})
	if err == nil && now != "running" {
		err = loader.Execution("Container '%s' is not running", name)
	}
	return err
}

type copyToArgs struct {
	Name       string
	Source     string
	Dest       string
	ExecDriver any  `default:"None"`
	Overwrite  bool `default:"False"`
	Makedirs   bool `default:"False"`
}

// copyTo copies a file into a container.
//
// source
//
//	The absolute path on the minion, or a salt:// path.
//
// dest
//
//	The absolute path in the container, or a directory there.
//
// overwrite, makedirs
//
//	Replace a file that is there; make its directory.
//
// CLI Example:
//
//	salt myminion docker.copy_to mycontainer /tmp/foo /root/foo
func (m *module) copyTo(ctx context.Context, a copyToArgs) (bool, error) {
	if err := m.checkDriver(ctx, a.ExecDriver); err != nil {
		return false, err
	}
	if err := m.isRunning(ctx, a.Name); err != nil {
		return false, err
	}
	local, err := m.cached(ctx, a.Source)
	if err != nil {
		return false, err
	}
	info, err := os.Stat(local)
	switch {
	case !filepath.IsAbs(local):
		return false, loader.Invocation("Source path must be absolute")
	case err != nil:
		return false, loader.Invocation("Source file %s does not exist", local)
	case !info.Mode().IsRegular():
		return false, loader.Invocation("Source must be a regular file")
	case !path.IsAbs(a.Dest):
		return false, loader.Invocation("Destination path must be absolute")
	}
	dest, err := m.destination(ctx, a, filepath.Base(local))
	if err != nil {
		return false, err
	}
	mode, there, err := m.stat(ctx, a.Name, dest)
	if err != nil {
		return false, err
	}
	if there && !a.Overwrite {
		return false, loader.Execution("Destination path %s already exists. Use overwrite=True to overwrite it", dest)
	}
	if !there {
		mode = 0o644
	}
	return true, m.put(ctx, a.Name, local, dest, mode)
}

// destination returns the path of a new file in a container, whose directory is then there.
func (m *module) destination(ctx context.Context, a copyToArgs, name string) (string, error) {
	test := func(argv ...any) (docker.Ran, error) {
		return m.exec(ctx, runArgs{Name: a.Name, Cmd: argv, ExecDriver: a.ExecDriver, IgnoreRetcode: true}, false)
	}
	ran, err := test("test", "-d", a.Dest)
	if err != nil || ran.Code == 0 {
		return path.Join(a.Dest, name), err
	}
	dir := path.Dir(a.Dest)
	if ran, err = test("test", "-d", dir); err != nil || ran.Code == 0 {
		return a.Dest, err
	}
	if !a.Makedirs {
		return "", loader.Invocation("Directory %s does not exist on docker container '%s'", dir, a.Name)
	}
	ran, err = test("mkdir", "-p", dir)
	if err == nil && ran.Code != 0 {
		text := "Unable to create destination directory " + dir + " in container '" + a.Name + "'"
		if ran.Stderr != "" {
			text += ": " + ran.Stderr
		}
		err = loader.Execution("%s", text)
	}
	return a.Dest, err
}

// stat returns the permissions of a file in a container, if it is there.
func (m *module) stat(ctx context.Context, container, file string) (mode int64, there bool, err error) {
	e, err := m.engine(ctx)
	if err != nil {
		return 0, false, err
	}
	resp, err := e.Do(ctx, docker.Request{Method: http.MethodHead, Path: docker.Path("containers", container, "archive"),
		Query: url.Values{"path": {file}}})
	if docker.StatusOf(err) == http.StatusNotFound {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, m.failed("get_archive", err)
	}
	defer resp.Body.Close()
	text, err := base64.StdEncoding.DecodeString(resp.Header.Get("X-Docker-Container-Path-Stat"))
	if err != nil {
		return 0, false, m.failed("get_archive", err)
	}
	v, err := pyjson.Load(string(text))
	if err != nil {
		return 0, false, m.failed("get_archive", err)
	}
	bits, _ := dict(v).Value("mode").(int64)
	return bits & 0o777, true, nil
}

// put writes a file of this host to a path in a container, and checks what arrived.
func (m *module) put(ctx context.Context, container, local, dest string, mode int64) error {
	f, err := openFile(local)
	if err != nil {
		return loader.Execution("%w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return loader.OSError(err)
	}
	sum := sha256.New()
	reader, writer := io.Pipe()
	defer reader.Close()
	go func() {
		archive := tar.NewWriter(writer)
		err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path.Base(dest), Size: info.Size(), Mode: mode,
			ModTime: info.ModTime()})
		if err == nil {
			_, err = io.Copy(archive, io.TeeReader(f, sum))
		}
		writer.CloseWithError(errors.Join(err, archive.Close()))
	}()
	e, err := m.engine(ctx)
	if err != nil {
		return err
	}
	_, err = e.Call(ctx, docker.Request{Method: http.MethodPut, Path: docker.Path("containers", container, "archive"),
		Query: url.Values{"path": {path.Dir(dest)}}, Raw: reader, Type: "application/x-tar", Silence: m.limits.work})
	if err != nil {
		return m.failed("put_archive", err)
	}
	return m.arrived(ctx, container, dest, hex.EncodeToString(sum.Sum(nil)))
}

// arrived reads a file back from a container.
func (m *module) arrived(ctx context.Context, container, dest, want string) error {
	e, err := m.engine(ctx)
	if err != nil {
		return err
	}
	resp, err := e.Do(ctx, docker.Request{Method: http.MethodGet, Path: docker.Path("containers", container, "archive"),
		Query: url.Values{"path": {dest}}})
	if err != nil {
		return m.failed("get_archive", err)
	}
	defer resp.Body.Close()
	sum := sha256.New()
	archive := tar.NewReader(resp.Body)
	if header, err := archive.Next(); err != nil {
		return m.failed("get_archive", err)
	} else if _, err = io.CopyN(sum, archive, header.Size); err != nil {
		return m.failed("get_archive", err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return loader.Execution("the file %s in container %s has the SHA-256 sum %s after copying, not %s", dest, container, got, want)
	}
	return nil
}
