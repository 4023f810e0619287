package roots

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/internal/atomicfile"
)

// Update reports which files changed since the last update, for fileserver_events. Without
// fileserver_events it does nothing, since served files are never out of date. The result is stored
// in CACHEDIR/roots/mtime_map, in Salt's format.
func (b *Backend) Update(ctx context.Context) (fileserver.Change, error) {
	if b.opts.CacheDir == "" {
		return fileserver.Change{}, nil
	}
	b.update.Lock()
	defer b.update.Unlock()
	file := filepath.Join(b.opts.CacheDir, "roots", "mtime_map")
	before, err := readTimes(file)
	if err != nil {
		return fileserver.Change{}, err
	}
	now, err := b.times(ctx)
	if err != nil {
		return fileserver.Change{}, err
	}
	c := compare(before, now)
	if !c.Changed {
		return c, nil
	}
	return c, writeTimes(file, now)
}

func compare(before, now map[string]string) fileserver.Change {
	f := &fileserver.FileChanges{}
	for name, t := range before {
		if is, ok := now[name]; !ok {
			f.Removed = append(f.Removed, name)
		} else if is != t {
			f.Changed = append(f.Changed, name)
		}
	}
	for name := range now {
		if _, ok := before[name]; !ok {
			f.Added = append(f.Added, name)
		}
	}
	slices.Sort(f.Changed)
	slices.Sort(f.Removed)
	slices.Sort(f.Added)
	return fileserver.Change{Changed: len(f.Changed)+len(f.Removed)+len(f.Added) > 0, Files: f}
}

// times returns the modification times of all files in all environments; directories behind links
// are left out.
func (b *Backend) times(ctx context.Context) (map[string]string, error) {
	times := map[string]string{}
	for _, dir := range slices.Concat(slices.Collect(maps.Values(b.roots))...) {
		// dir may be a link
		below := strings.TrimRight(dir, string(filepath.Separator)) + string(filepath.Separator)
		err := filepath.WalkDir(below, func(p string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return ctx.Err() // an unreadable file counts as missing
			}
			info, err := os.Stat(p)
			if err == nil && info.Mode().IsRegular() && !strings.Contains(p, "\n") &&
				!b.opts.Ignore.Match(p) {
				times[p] = data.Str(float64(info.ModTime().UnixNano()) / 1e9)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return times, nil
}

// readTimes reads the result of the last update; it returns nothing if there was none.
func readTimes(file string) (map[string]string, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the result of the last update: %w", err)
	}
	defer f.Close()
	times := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		i := strings.LastIndexByte(lines.Text(), ':')
		if i < 0 {
			continue
		}
		name, t := lines.Text()[:i], lines.Text()[i+1:]
		if _, err := strconv.ParseFloat(t, 64); err == nil {
			times[name] = t
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the result of the last update: %w", err)
	}
	return times, nil
}

// writeTimes stores the result of an update.
func writeTimes(file string, times map[string]string) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("store the result of an update: %w", err)
	}
	fill := func(f *os.File) error {
		w := bufio.NewWriter(f)
		for _, name := range slices.Sorted(maps.Keys(times)) {
			_, _ = w.WriteString(name + ":" + times[name] + "\n") // Flush returns the error
		}
		return w.Flush()
	}
	if err := atomicfile.Fill(file, atomicfile.Options{Prefix: ".mtime_map"}, fill); err != nil {
		return fmt.Errorf("store the result of an update: %w", err)
	}
	return nil
}
