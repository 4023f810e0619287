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
)

// sumFile returns where the hashes of an archive are kept: CACHEDIR/archive_hash/ and its path in the cache, or local/ and its path
// (_checksum_file_path of the original). Lines are HASH_TYPE:SUM.
func (m *module) sumFile(cached string) string {
	dir := m.env.Opts.Text("cachedir")
	rel, err := filepath.Rel(dir, cached)
	rel += ".hash"
	if err != nil || strings.HasPrefix(rel, "../") {
		rel = filepath.Join("local", strings.TrimLeft(strings.TrimPrefix(cached, filepath.VolumeName(cached)), `/\`))
	}
	return filepath.Join(dir, "archive_hash", rel)
}

func (m *module) hashType() string {
	if kind := m.env.Opts.Text("hash_type"); kind != "" {
		return kind
	}
	return "sha256"
}

// sums returns the lines of a file of hashes; none where there is no file.
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

// knownSum returns the hash of an archive that was kept last; nil where there is none. "" is the usual type.
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

// keepSum writes down the hash that an archive has.
func (m *module) keepSum(ctx context.Context, cached string) error {
	v, err := m.env.Call(ctx, "file.get_hash", []any{cached, m.hashType()}, nil)
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
			line[1], found = data.Str(v), true
		}
		b.WriteString(line[0] + ":" + line[1] + "\n")
	}
	if !found {
		b.WriteString(m.hashType() + ":" + data.Str(v) + "\n")
	}
	file := m.sumFile(cached)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(file, []byte(b.String()), atomicfile.Options{Mode: 0o644, KeepMode: true})
}
