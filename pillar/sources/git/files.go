package git

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/render"
)

// maxFile is the limit of a pillar file, in bytes.
const maxFile = 16 << 20

// files gives access to directories as one environment: the first file of a path counts.
type files struct {
	env     string
	folders []folder
}

var _ pillar.Files = files{}

// Envs implements pillar.Files.
func (f files) Envs() []string { return []string{f.env} }

// List implements pillar.Files.
func (f files) List(ctx context.Context, env string) ([]string, error) {
	if env != f.env {
		return nil, nil
	}
	var all []string
	for _, d := range f.folders {
		names, err := d.view.Files(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Get implements render.Files.
func (f files) Get(_ context.Context, name, env string) (render.File, error) {
	for _, d := range f.folders {
		if env != f.env {
			break
		}
		blob, ok, err := d.view.Find(name)
		if err != nil {
			return render.File{}, err
		}
		if ok {
			m := d.remote.mirror
			return render.File{Path: filepath.Join(d.remote.dir, filepath.FromSlash(name)),
				Version: blob.String(),
				Read:    func() ([]byte, error) { return m.Blob(blob, maxFile) }}, nil
		}
	}
	return render.File{}, fmt.Errorf("%s in environment %s: %w", name, env, fileclient.ErrNotFound)
}
