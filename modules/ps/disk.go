//go:build linux

package ps

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type partitionArgs struct {
	All bool `default:"False"`
}

// diskPartitions returns the mounted file systems: device, directory, type and options.
//
// all
//
//	True also returns those without a disk.
//
// CLI Example:
//
//	salt '*' ps.disk_partitions
func (m *module) diskPartitions(_ context.Context, a partitionArgs) (any, error) {
	mounts, err := m.mounts(a.All)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, one := range mounts {
		list = append(list, one)
	}
	return list, nil
}

func (m *module) mounts(all bool) (list []*data.Map, err error) {
	types, err := m.read("filesystems")
	if err != nil {
		return nil, err
	}
	real := []string{"zfs"}
	for line := range strings.Lines(types) {
		if !strings.HasPrefix(line, "nodev") {
			real = append(real, strings.TrimSpace(line))
		}
	}
	text, err := m.read("self", "mounts")
	if err != nil {
		return nil, err
	}
	octal := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 4 || !all && (words[0] == "none" || !slices.Contains(real, words[2])) {
			continue
		}
		device := octal.Replace(words[0])
		if device == "none" {
			device = ""
		}
		folder, longest := octal.Replace(words[1]), any(nil)
		if s := (unix.Statfs_t{}); unix.Statfs(m.path(folder), &s) == nil {
			longest = int64(s.Namelen)
		}
		list = append(list, data.NewMap("device", device, "mountpoint", folder, "fstype", words[2],
			"opts", words[3], "maxfile", longest, "maxpath", int64(unix.PathMax)))
	}
	return list, nil
}

type pathArgs struct{ Path string }

// diskUsage returns the size of the file system of a path and the used space, in bytes.
//
// CLI Example:
//
//	salt '*' ps.disk_usage /home
func (m *module) diskUsage(_ context.Context, a pathArgs) (any, error) {
	return m.usage(a.Path)
}

func (m *module) usage(path string) (*data.Map, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(m.path(path), &s); err != nil {
		return nil, loader.OSError(&os.PathError{Op: "statvfs", Path: path, Err: err})
	}
	size := s.Frsize
	if size == 0 {
		size = s.Bsize
	}
	total, free := int64(s.Blocks)*int64(size), int64(s.Bavail)*int64(size)
	used := total - int64(s.Bfree)*int64(size)
	return data.NewMap("total", total, "used", used, "free", free,
		"percent", share(used, used+free)), nil
}

// diskPartitionUsage returns the mounted file systems with their sizes.
//
// CLI Example:
//
//	salt '*' ps.disk_partition_usage
func (m *module) diskPartitionUsage(_ context.Context, a partitionArgs) (any, error) {
	mounts, err := m.mounts(a.All)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, one := range mounts {
		usage, err := m.usage(one.Text("mountpoint"))
		if err != nil {
			return nil, err
		}
		one.Update(usage)
		list = append(list, one)
	}
	return list, nil
}

type interfaceArgs struct {
	Interface any `default:"None"`
}

// networkIoCounters returns the traffic counters of all network interfaces, or of one. It returns
// False if the interface does not exist.
//
// CLI Example:
//
//	salt '*' ps.network_io_counters
//	salt '*' ps.network_io_counters interface=eth0
func (m *module) networkIoCounters(_ context.Context, a interfaceArgs) (any, error) {
	text, err := m.read("net", "dev")
	if err != nil {
		return nil, err
	}
	names := []string{"bytes_sent", "bytes_recv", "packets_sent", "packets_recv", "errin", "errout",
		"dropin", "dropout"}
	columns := []int{8, 0, 9, 1, 2, 10, 3, 11}
	sum, found := make([]int64, len(names)), false
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(line, ":")
		values, good := counters(strings.Fields(rest), 16)
		if !ok || !good || data.Truth(a.Interface) && strings.TrimSpace(name) != a.Interface {
			continue
		}
		found = true
		for i, c := range columns {
			sum[i] += values[c]
		}
	}
	if data.Truth(a.Interface) && !found {
		return false, nil
	}
	return named(names, sum), nil
}

// counters parses the first n words as numbers.
func counters(words []string, n int) ([]int64, bool) {
	if len(words) < n {
		return nil, false
	}
	list := make([]int64, n)
	for i := range list {
		v, err := strconv.ParseUint(words[i], 10, 63)
		if err != nil {
			return nil, false
		}
		list[i] = int64(v)
	}
	return list, true
}

func named(names []string, values []int64) *data.Map {
	all := data.NewMap()
	for i, name := range names {
		all.Set(name, values[i])
	}
	return all
}

type diskArgs struct {
	Device any `default:"None"`
}

// diskIoCounters returns the read and write counters of all disks, or of one. It returns False if
// the disk does not exist.
//
// CLI Example:
//
//	salt '*' ps.disk_io_counters
//	salt '*' ps.disk_io_counters device=sda1
func (m *module) diskIoCounters(_ context.Context, a diskArgs) (any, error) {
	text, err := m.read("diskstats")
	if err != nil {
		return nil, err
	}
	const sector = 512
	names := []string{"read_count", "write_count", "read_bytes", "write_bytes", "read_time",
		"write_time", "read_merged_count", "write_merged_count", "busy_time"}
	sum, found := make([]int64, len(names)), false
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 3 {
			continue
		}
		v, good := counters(words[3:], 10)
		whole := !data.Truth(a.Device) && m.isDisk(words[2])
		if !good || !whole && words[2] != a.Device {
			continue
		}
		found = true
		for i, n := range []int64{v[0], v[4], v[2] * sector, v[6] * sector, v[3], v[7], v[1],
			v[5], v[9]} {
			sum[i] += n
		}
	}
	if data.Truth(a.Device) && !found {
		return false, nil
	}
	return named(names, sum), nil
}

// isDisk reports whether a device is a whole disk and not a partition.
func (m *module) isDisk(name string) bool {
	_, err := os.Lstat(m.path("/sys/block", strings.ReplaceAll(name, "/", "!")))
	return err == nil
}

// getUsers returns the logged-in users: name, terminal, host, login time, and process of the login.
//
// CLI Example:
//
//	salt '*' ps.get_users
func (m *module) getUsers(context.Context, loader.NoArgs) (any, error) {
	text, err := os.ReadFile(m.path("/var/run/utmp"))
	if errors.Is(err, fs.ErrNotExist) {
		return []any{}, nil
	}
	if err != nil {
		return nil, err
	}
	return logins(text), nil
}

// logins parses a utmp file (utmp(5)).
func logins(text []byte) []any {
	const length, user = 384, 7
	list := []any{}
	for ; len(text) >= length; text = text[length:] {
		r := text[:length]
		if binary.NativeEndian.Uint16(r) != user {
			continue
		}
		word := func(from, n int) string { s, _, _ := bytes.Cut(r[from:from+n], []byte{0}); return string(s) }
		host := word(76, 256)
		if host == ":0.0" || host == ":0" {
			host = "localhost"
		}
		list = append(list, data.NewMap("name", word(44, 32), "terminal", word(8, 32), "host", host,
			"started", float64(binary.NativeEndian.Uint32(r[340:])), "pid",
			int64(binary.NativeEndian.Uint32(r[4:]))))
	}
	return list
}
