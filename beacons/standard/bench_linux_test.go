//go:build !small

package standard

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// BenchmarkIdle measures a turn of ten beacons that report nothing, and the share of a processor that
// they use, as a minion has a turn each second.
func BenchmarkIdle(b *testing.B) {
	dir := b.TempDir()
	file := filepath.Join(dir, "log")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		b.Fatal(err)
	}
	r, err := loader.NewRegistry(&loader.Env{}, Plugins())
	if err != nil {
		b.Fatal(err)
	}
	ctx, scope := loader.WithScope(b.Context())
	defer scope.Close()
	type call struct {
		fun    string
		config []any
	}
	calls := []call{{"log", []any{data.NewMap("file", file)}}, {"network_settings", []any{data.NewMap("interfaces",
		data.NewMap("lo", data.NewMap("mtu", nil)))}}}
	for range 4 {
		calls = append(calls, call{"inotify", []any{data.NewMap("files", data.NewMap(dir, data.NewMap("mask",
			[]any{"delete"})))}}, call{"log", []any{data.NewMap("file", file)}})
	}
	before := processorTime(b)
	for b.Loop() {
		for _, c := range calls {
			if valid, err := r.Invoke(ctx, c.fun+".validate", []any{c.config}, nil); err != nil || !data.Truth(valid) {
				b.Fatal(valid, err)
			}
			if got, err := r.Invoke(ctx, c.fun+".beacon", []any{data.Clone(c.config)}, nil); err != nil ||
				len(data.ListOf(got)) > 0 {
				b.Fatal(got, err)
			}
		}
	}
	used := processorTime(b) - before
	b.ReportMetric(used.Seconds()/float64(b.N)*100, "%CPU")
}

// processorTime returns the time that this process has used of processors.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
