//go:build linux

package disk

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// printed is the output of programs by command line; other commands fail.
func printed() map[string]string {
	return map[string]string{
		"df -P":                  "Filesystem     1024-blocks    Used Available Capacity Mounted on\n/dev/vda1         100      60        40      60% /\nmy share       10       5         5      50% /mnt\n",
		"df -P -k":               "Filesystem     1024-blocks    Used Available Capacity Mounted on\n/dev/vda1         100      60        40      60% /\n",
		"df -iP":                 "Filesystem      Inodes  IUsed   IFree IUse% Mounted on\n/dev/vda1        10   4   6    40% /\n",
		"df -T /dev/vda2":        "Filesystem     Type\nudev           devtmpfs\n",
		"blkid":                  "/dev/vda1: UUID=\"1-2\" BLOCK_SIZE=\"4096\" TYPE=\"ext4\"\n/dev/vdb: LABEL=\"my disk\" TYPE=\"xfs\"\n",
		"blkid -t TYPE=xfs":      "/dev/vdb: LABEL=\"my disk\" TYPE=\"xfs\"\n",
		"lsblk -o fstype /dev/a": "FSTYPE\next4\n",
		"blockdev --getro --getsz --getss --getpbsz --getiomin --getioopt --getalignoff --getmaxsect --getsize --getsize64 --getra --getfra /dev/a": "0\n1\n512\n512\n512\n0\n0\n256\n8\n4096\n1024\n256\n",
		"blockdev --setra 1024 --setrw /dev/a":                "",
		"wipefs -a /dev/a":                                    "",
		"resize2fs /dev/a":                                    "",
		"sync":                                                "",
		"mkfs -t ext4 -i 256 -F /dev/a":                       "",
		"mkfs -t vfat -F 32 /dev/a":                           "",
		"hdparm -aAbBcCdgHiJkMmNnQrRuW /dev/sda":              "\n/dev/sda:\n readahead     = 256 (on)\n APM_level\t= 127\n geometry      = 9729/255/63, sectors = 156301488, start = 0\n drive state is:  active/idle\n",
		"hdparm -N /dev/sda":                                  "\n/dev/sda:\n max sectors   = 100/200, HPA is enabled\n",
		"hdparm --yes-i-know-what-i-am-doing -Np190 /dev/sda": "",
		"smartctl --attributes /dev/sda": "smartctl 7.3\n\nID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE\n" +
			"  5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always       -       0\n190 Airflow_Temperature_Cel 0x0032   066   050   000    Old_age   Always       -       34 (Min/Max 20/40)\n\n",
		"iostat -xd 1 2 sda": "Linux 6.1\n\nDevice:  r/s w/s\nsda 1.00 2.00\n\nDevice:  r/s w/s\nsda 2.00 2.01\n\n",
		"iostat -x 1 1":      "Linux 6.1\n\navg-cpu:  %user %idle\n  1.00 99.00\n\nDevice   r/s\nsda   3.00\n\n",
	}
}

func system(t testing.TB, out map[string]string) (*loader.Registry, *[]string) {
	t.Helper()
	root, bin, ran := t.TempDir(), t.TempDir(), &[]string{}
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "etc"), 0o755),
		os.WriteFile(filepath.Join(root, "etc", "mtab"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"blkid", "lsblk", "df", "sync", "mkfs", "hdparm", "iostat"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/false\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if t, ok := t.(interface{ Setenv(string, string) }); ok {
		t.Setenv("PATH", bin)
	}
	type words struct {
		Cmd    []any
		Kwargs *data.Map `kwargs:"kwargs"`
	}
	run := func(_ context.Context, a words) (any, error) {
		var argv []string
		for _, w := range a.Cmd {
			argv = append(argv, data.Str(w))
		}
		line := strings.Join(argv, " ")
		*ran = append(*ran, line)
		text, ok := out[line]
		if !ok {
			return data.NewMap("retcode", int64(1), "stdout", "", "stderr", "no "+line), nil
		}
		return data.NewMap("retcode", int64(0), "stdout", text, "stderr", ""), nil
	}
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap(), Root: root}, []loader.Plugin{Plugin(),
		{Name: "cmd", New: func(*loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{loader.F("run_all", run)}}, nil
		}},
		{Name: "mount", New: func(*loader.Env) (*loader.Module, error) {
			type path struct{ Path string }
			return &loader.Module{Funcs: []loader.Func{loader.F("get_device_from_path",
				func(context.Context, path) (any, error) { return "/dev/a", nil })}}, nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	return r, ran
}

// TestAnswers has the results of Salt 3006.0 for the same outputs.
func TestAnswers(t *testing.T) {
	r, _ := system(t, printed())
	for _, tt := range []struct {
		fun    string
		args   []any
		kwargs *data.Map
		want   string
	}{
		{"usage", nil, nil, "{'/': {'filesystem': '/dev/vda1', '1K-blocks': '100', 'used': '60', " +
			"'available': '40', 'capacity': '60%'}, '/mnt': {'filesystem': 'my share', '1K-blocks': " +
			"'10', 'used': '5', 'available': '5', 'capacity': '50%'}}"},
		{"usage", []any{"k"}, nil, "{'/': {'filesystem': '/dev/vda1', '1K-blocks': '100', 'used': '60', 'available': '40', 'capacity': '60%'}}"},
		{"usage", []any{"z"}, nil, "ERROR Invalid flag passed to disk.usage"},
		{"inodeusage", nil, nil, "{'/': {'inodes': '10', 'used': '4', 'free': '6', 'use': '40%', 'filesystem': '/dev/vda1'}}"},
		{"percent", nil, nil, "{'/': '60%', '/mnt': '50%'}"},
		{"percent", []any{"/mnt"}, nil, "'50%'"},
		{"percent", []any{"/none"}, nil, "{}"},
		{"blkid", nil, nil, "{'/dev/vda1': {'UUID': '1-2', 'BLOCK_SIZE': '4096', 'TYPE': 'ext4'}, '/dev/vdb': {'LABEL': 'my disk', 'TYPE': 'xfs'}}"},
		{"blkid", nil, data.NewMap("token", "TYPE=xfs"), "{'/dev/vdb': {'LABEL': 'my disk', 'TYPE': 'xfs'}}"},
		{"blkid", []any{"/dev/none"}, nil, "{}"},
		{"fstype", []any{"/dev/a"}, nil, "'ext4'"},
		{"fstype", []any{"/dev/vda2"}, nil, "'udev           devtmpfs'"},
		{"fstype", []any{"/dev/none"}, nil, "''"},
		{"get_fstype_from_path", []any{"/root"}, nil, "'ext4'"},
		{"dump", []any{"/dev/a", []any{"getss", "getra"}}, nil, "{'getss': '512', 'getra': '1024'}"},
		{"dump", []any{"/dev/none"}, nil, "False"},
		{"tune", []any{"/dev/a"}, data.NewMap("read-ahead", int64(1024), "read-write", true),
			"{'getra': '1024', 'getro': '0'}"},
		{"tune", []any{"/dev/a"}, data.NewMap("read-only", false, "other", "x", "__id__", "a"),
			"ERROR Invalid keyword arguments: read-only=False, other=x"},
		{"tune", []any{"/dev/none"}, data.NewMap("read-only", true),
			"ERROR no blockdev --setro /dev/none"},
		{"wipe", []any{"/dev/a"}, nil, "True"},
		{"wipe", []any{"/dev/none"}, nil, "False"},
		{"resize2fs", []any{"/dev/a"}, nil, "True"},
		{"resize2fs", []any{"/dev/none"}, nil, "None"},
		{"format", []any{"/dev/a"}, data.NewMap("inode_size", int64(256), "force", true), "True"},
		{"format", []any{"/dev/a", "vfat"}, data.NewMap("fat", int64(32)), "True"},
		{"format", []any{"/dev/none"}, nil, "False"},
		{"hdparms", []any{"sda"}, nil,
			"{'/dev/sda': {'readahead': [256, 'on'], 'apm_level': 127, 'geometry': [9729, 255, 63, {'sectors': '156301488', 'start': '0'}], 'drive_state': ['active', 'idle']}}"},
		{"hpa", []any{"sda"}, nil, "{'/dev/sda': {'total': 200, 'visible': 100, 'hidden': 100}}"},
		{"hpa", []any{"sda", "5%"}, nil, "None"},
		{"smart_attributes", []any{"sda"},
			data.NewMap("attributes", []any{int64(190)}, "values", []any{"value", "raw_value"}),
			"{190: {'value': 66, 'raw_value': '34 (Min/Max 20/40)'}}"},
		{"smart_attributes", []any{"none"}, nil, "ERROR no smartctl --attributes /dev/none"},
		{"iostat", []any{int64(1), int64(2), "sda"}, nil, "{'sda': {'r/s': 1.5, 'w/s': 2.0}}"},
		{"iostat", []any{int64(1), int64(1)}, nil,
			"{'sys': {'%user': 1.0, '%idle': 99.0}, 'sda': {'r/s': 3.0}}"},
	} {
		for range 2 {
			v, err := r.Invoke(t.Context(), "disk."+tt.fun, tt.args, tt.kwargs)
			got := data.Repr(v)
			if err != nil {
				got = "ERROR " + err.Error()
			}
			if got != tt.want {
				t.Errorf("%s %v returned %s\nwant %s", tt.fun, tt.args, got, tt.want)
			}
		}
	}
}

func TestMissingPrograms(t *testing.T) {
	r, ran := system(t, nil)
	t.Setenv("PATH", t.TempDir())
	for _, call := range []string{"blkid", "hdparms sda", "hpa sda", "iostat", "format /dev/a"} {
		fun, arg, _ := strings.Cut(call, " ")
		if process.Find(map[string]string{"blkid": "blkid", "iostat": "iostat",
			"format": "mkfs"}[fun]) != "" || strings.HasPrefix(fun, "h") && process.Find("hdparm") != "" {
			continue // is in a directory that is always searched
		}
		var args []any
		if arg != "" {
			args = []any{arg}
		}
		if _, err := r.Invoke(t.Context(), "disk."+fun, args, nil); err == nil ||
			!strings.HasSuffix(err.Error(), "binary was not found in $PATH.") {
			t.Errorf("%s: %v", fun, err)
		}
	}
	if err := needs("nosuchprogram"); err == nil ||
		err.Error() != "The 'nosuchprogram' binary was not found in $PATH." {
		t.Errorf("no program: %v", err)
	}
	if len(*ran) > 0 {
		t.Errorf("ran %v", *ran)
	}
}

// FuzzOutputs parses nonsensical program outputs.
func FuzzOutputs(f *testing.F) {
	for _, text := range printed() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows(text)
		tags(text)
		attributes(text, nil, nil)
		averages(text)
		for _, v := range parameters(text, "/dev/sda").All() {
			if area, ok := hidden(data.NewMap("x", v)); ok {
				if _, err := visible(area.Value("total").(int64), text); err == nil && text == "" {
					t.Error("an invalid size was accepted")
				}
			}
		}
	})
}
