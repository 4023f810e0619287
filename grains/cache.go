package grains

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/payload"
)

// Start returns the grains for the start of a program. These are the cached ones if the option
// grains_cache is set and they are no older than grains_cache_expiration seconds; otherwise the
// result of Collect.
func (c *Collector) Start(ctx context.Context) (*data.Map, error) {
	if path := c.cacheFile(); path != "" && !data.Truth(c.o.Opts.Value("refresh_grains_cache")) {
		cached, err := readCache(path, c.cacheAge())
		if err != nil {
			c.o.Log.WithError(err).Warn("The grains cache is ignored")
		}
		if cached.Len() > 0 {
			return cached, ctx.Err()
		}
	}
	return c.Collect(ctx)
}

// cacheFile returns the path of the cache, or "" if caching is off.
func (c *Collector) cacheFile() string {
	dir := c.o.Opts.Text("cachedir")
	if dir == "" || !data.Truth(c.o.Opts.Value("grains_cache")) {
		return ""
	}
	return filepath.Join(dir, "grains.cache.p")
}

// cacheAge returns the maximum age of the cache.
func (c *Collector) cacheAge() time.Duration {
	if s, ok := c.o.Opts.Value("grains_cache_expiration").(int64); ok {
		return time.Duration(s) * time.Second
	}
	return 300 * time.Second
}

// readCache reads the cache written by Salt or by a Collector (salt/loader/__init__.py,
// _load_cached_grains). The result is empty if the file is missing or too old. Its age counts in
// whole seconds.
func readCache(path string, limit time.Duration) (*data.Map, error) {
	none := data.NewMap()
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !st.Mode().IsRegular() {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	if time.Since(st.ModTime()).Truncate(time.Second) > limit {
		return none, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return none, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return none, err
	}
	v, err := payload.UnmarshalText(b, payload.Limits{Size: maxFile})
	if err != nil {
		return none, fmt.Errorf("read %s: %w", path, err)
	}
	cached, ok := v.(*data.Map)
	if !ok {
		return none, nil
	}
	return withTuples(cached), nil
}

// withTuples restores the type of the grain osrelease_info, which MessagePack loses
// (_format_cached_grains).
func withTuples(m *data.Map) *data.Map {
	if list, ok := m.Value("osrelease_info").([]any); ok {
		m.Set("osrelease_info", data.Tuple(list))
	}
	return m
}

// writeCache stores m for the next start if the option grains_cache is set. A cache that cannot be
// written is removed, so that no old one is used.
func (c *Collector) writeCache(m *data.Map) {
	path := c.cacheFile()
	if path == "" {
		return
	}
	b, err := payload.MarshalBin(m)
	if err == nil {
		err = atomicfile.Write(path, b, atomicfile.Options{Mode: 0o600, Prefix: ".grains-"})
	}
	if err != nil {
		c.o.Log.WithError(err).Errorf("Unable to write to grains cache file %s", path)
		_ = os.Remove(path)
	}
}
