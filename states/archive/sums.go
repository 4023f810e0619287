package archive

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/modules/calls"
)

// sumFile returns the path of the file with the hashes of an archive: CACHEDIR/archive_hash/ plus
// its path in the cache, or local/ plus its path (_checksum_file_path of the original). Its lines
// are HASH_TYPE:SUM.
func (m *module) sumFile(cached string) string {
	dir := m.env.Opts.Text("cachedir")
	rel, err := filepath.Rel(dir, cached)
	rel += ".hash"
	if err != nil || strings.HasPrefix(rel, "../") {
		rel = filepath.Join("local", strings.TrimLeft(strings.TrimPrefix(cached,
			filepath.VolumeName(cached)), `/\`))
	}
	return filepath.Join(dir, "archive_hash", rel)
}

func (m *module) hashType() string {
	if kind := m.env.Opts.Text("hash_type"); kind != "" {
		return kind
	}
	return "sha256"
}

// sums returns the lines of a file of hashes, none if the file does not exist.
func (m *module) sums(cached string) ([][2]string, error) {
	src, err := os.ReadFile(m.sumFile(cached))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list [][2]string
	for line := range strings.Lines(string(src)) {
		if kind, sum, ok := strings.Cut(strings.TrimRight(line, "\n"), ":"); ok {
			list = append(list, [2]string{kind, sum})
		}
	}
	return list, err
}

// knownSum returns the stored hash of an archive, nil if there is none. Kind "" means the default
// type.
func (m *module) knownSum(cached, kind string) (*data.Map, error) {
	if kind == "" {
		kind = m.hashType()
	}
	list, err := m.sums(cached)
	for _, line := range list {
		if line[0] == kind {
			return data.NewMap("hash_type", kind, "hsum", line[1]), nil
		}
	}
	return nil, err
}

// keepSum stores the current hash of an archive.
func (m *module) keepSum(ctx context.Context, cached string) error {
	sum, err := calls.GetHash(ctx, m.env, cached, m.hashType())
	if err != nil {
		return err
	}
	list, err := m.sums(cached)
	if err != nil {
		return err
	}
	var b strings.Builder
	found := false
	for _, line := range list {
		if line[0] == m.hashType() {
			line[1], found = sum, true
		}
		b.WriteString(line[0] + ":" + line[1] + "\n")
	}
	if !found {
		b.WriteString(m.hashType() + ":" + sum + "\n")
	}
	file := m.sumFile(cached)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(file, []byte(b.String()),
		atomicfile.Options{Mode: 0o644, KeepMode: true})
}
