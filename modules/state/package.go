package state

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/internal/unpack"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state"
)

type pkgArgs struct {
	PkgPath  string
	PkgSum   any
	HashType any
	Test     any       `default:"None"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// pkg runs the low chunks of an archive that also contains the files they need, as salt-ssh makes
// it. The archive holds lowstate.json, one directory for each environment, and optionally
// pillar.json and roster_grains.json. If the archive is missing, has another hash, or would unpack
// files outside of its directory, nothing runs and the result is empty.
//
// pkg_path
//
//	The archive, a tar file compressed by gzip.
//
// pkg_sum, hash_type
//
//	Its hash, and the hash algorithm.
//
// test : None
//
//	True changes nothing and reports what would change.
//
// CLI Example:
//
//	salt '*' state.pkg /tmp/salt_state.tgz 760a9353810e36f6d81416366fc426dc md5
func (m *module) pkg(ctx context.Context, a pkgArgs) (any, error) {
	if info, err := os.Stat(a.PkgPath); err != nil || !info.Mode().IsRegular() {
		return &data.Map{}, nil
	}
	sum, err := calls.GetHash(ctx, m.env, a.PkgPath, a.HashType)
	if err != nil || !data.Equal(sum, a.PkgSum) {
		return &data.Map{}, err
	}
	dir, err := os.MkdirTemp("", "__salt.tmp.")
	if err != nil {
		return nil, loader.OSError(err)
	}
	defer os.RemoveAll(dir)
	switch err := m.unpack(ctx, a.PkgPath, dir); {
	case errors.Is(err, unpack.ErrOutside):
		return &data.Map{}, nil
	case err != nil:
		return nil, loader.Execution("unpack %s: %w", a.PkgPath, err)
	}
	return m.runPackage(ctx, dir, a)
}

// unpack writes the contents of a package into a directory.
func (m *module) unpack(ctx context.Context, file, dir string) (err error) {
	t, err := unpack.Open(ctx, file, m.env.Run)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	to, err := unpack.OpenFolder(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	return t.Each(func(h *tar.Header) error {
		if name := filepath.Clean(h.Name); name != "." && !filepath.IsLocal(name) {
			return fmt.Errorf("%w: %s", unpack.ErrOutside, h.Name)
		}
		if err := to.Room(to.Needs(h.Name, h.Size)); err != nil {
			return err
		}
		return to.Put(h, t)
	})
}

// runPackage runs the low chunks of an unpacked package.
func (m *module) runPackage(ctx context.Context, dir string, a pkgArgs) (any, error) {
	low, err := readJSON(dir, "lowstate.json")
	if err != nil {
		return nil, err
	}
	var chunks []state.Chunk
	for _, v := range listOf(low) {
		chunk, ok := v.(*data.Map)
		if !ok {
			return low, nil // the problems found when the package was made
		}
		chunks = append(chunks, state.Chunk{Map: chunk})
	}
	h, err := m.packaged(ctx, dir, a)
	if err != nil {
		return nil, err
	}
	run, err := (&run{highState: h, m: m, kwargs: a.Kwargs}).runner()
	if err != nil {
		return nil, err
	}
	results, err := run.Chunks(ctx, chunks)
	if err != nil {
		return nil, runError(err)
	}
	judgeRun(ctx, results, nil)
	return results, nil
}

// packaged returns what the chunks of a package run with: its files, pillar and grains.
func (m *module) packaged(ctx context.Context, dir string, a pkgArgs) (*highState, error) {
	roots, err := environments(dir)
	if err != nil {
		return nil, err
	}
	pillar, err := optionalJSON(dir, "pillar.json")
	if err != nil {
		return nil, err
	}
	grains, err := optionalJSON(dir, "roster_grains.json")
	if err != nil {
		return nil, err
	}
	opts, err := m.runOptions(ctx, sharedArgs{test: a.Test, kwargs: a.Kwargs})
	if err != nil {
		return nil, err
	}
	opts.Set("file_client", "local")
	opts.Set("fileserver_backend", []any{"roots"})
	opts.Set("file_roots", roots)
	own := *m
	if facts, ok := grains.(*data.Map); ok {
		env := *m.env
		env.Grains = func() *data.Map { return facts }
		own.env = &env
	}
	return own.highState(ctx, opts, override{pillar: pillar})
}

// environments returns the option file_roots for the directories of a package.
func environments(dir string) (*data.Map, error) {
	entries, err := os.ReadDir(dir)
	roots := &data.Map{}
	for _, e := range entries {
		if e.IsDir() {
			roots.Set(e.Name(), []any{filepath.Join(dir, e.Name())})
		}
	}
	return roots, err
}

func readJSON(dir, name string) (any, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil, loader.OSError(err)
	}
	v, err := pyjson.Load(string(text))
	if err != nil {
		return nil, loader.Execution("%s of the package: %w", name, err)
	}
	return v, nil
}

// optionalJSON is readJSON for a file that may be missing.
func optionalJSON(dir, name string) (any, error) {
	if _, err := os.Lstat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return readJSON(dir, name)
}
