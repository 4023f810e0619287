package zypperpkg

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testpkg"
	"github.com/brineproject/brine/loader"
)

const locksText = "\ntype: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: vim\n\ntype: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: z*\n" +
	"\ntype: patch\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: sec\n\ntype: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: none\n"

const productsText = `<?xml version='1.0'?>
<stream>
<message type="info">Loading repository data...</message>
<product-list>
<product name="SLES" version="15.4" release="0" epoch="0" arch="x86_64" vendor="SUSE" productline="sles" registerrelease="" isbase="true" installed="1"><endoflife time_t="1438380000" text="2015-08-01T00:00:00"/><registerflavor/><description>SUSE Linux
   for servers.</description></product>
<product name="module" version="15" release="1" epoch="0" arch="noarch" isbase="0" installed="false"><endoflife time_t="" text=""/><description>Module</description></product>
</product-list>
</stream>
`

const downloadText = `<?xml version='1.0'?>
<stream>
<download-result version="1"><solvable><kind>package</kind><name>vim</name><edition epoch="0" version="7.4" release="2"/><arch name="x86_64"/><repository name="Pool" alias="pool"/></solvable><localfile path="/cache/vim.rpm"/></download-result>
</stream>
`

// answers maps the ends of command lines to the output of programs.
func answers() map[string]string {
	list := func(solvables string) string {
		return "<?xml version='1.0'?><stream><search-result><solvable-list>" + solvables +
			"</solvable-list></search-result></stream>"
	}
	info := "Loading\n\nInformation for X:\n-----\nRepository : Pool\nVersion : 15-1\nArch : x86_64\nInstalled : Yes\nName : "
	return map[string]string{
		"products": productsText, "products -i": productsText, "download vim none": downloadText,
		"download vim": downloadText,
		" cl":          "<?xml version='1.0'?><stream><message type=\"info\">Removed 2 locks.</message></stream>",
		" ps -sss":     "sshd\ncron\n",
		"search --match-exact --case-sensitive --installed-only --details vim": list(`<solvable status="installed" name="vim" kind="package" edition="7.4-1"/>`),
		"search --case-sensitive --installed-only --details z*":                list(`<solvable status="installed" name="zsh" kind="package"/><solvable status="installed" name="zip" kind="package"/>`),
		"search --match-exact vim":                                             list(`<solvable status="installed" name="vim" kind="package"/>`),
		"search --match-exact --provides w3m_ssl":                              list(`<solvable status="not-installed" name="w3m" kind="package"/>`),
		"se -t pattern":                list(`<solvable status="installed" name="base" summary="Base" kind="pattern"/><solvable status="not-installed" name="x11" summary="X" kind="pattern"/>`),
		"se -t patch":                  list(`<solvable status="installed" name="sec" summary="S" kind="patch"/>`),
		"info -t package pattern:base": info + "base\n", "info -t package patch:sec": info + "sec\n",
		"%{PROVIDES}_|-%{NAME}\n": "vim_|-vim\nvi_|-vim\neditor_|-vim\neditor_|-nano\n",
	}
}

func answer(args []string) testpkg.Answer {
	line := strings.Join(args, " ")
	for end, text := range answers() {
		if strings.HasSuffix(line, end) {
			return testpkg.Answer{Out: text}
		}
	}
	if args[0] == "rpm" {
		return testpkg.Answer{Out: "vim_|-(none)_|-7.4_|-1_|-x86_64_|-(none)_|-1487838485\n"}
	}
	return testpkg.Answer{Code: 104,
		Out: "<?xml version='1.0'?><stream><message type=\"info\">No matching items found.</message></stream>"}
}

type words struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// lowpkg returns a replacement of the RPM module: it owns /etc/vimrc and /etc/zshrc, and knows one
// package file.
func lowpkg() loader.Plugin {
	of := func(f func(a words) any) func(context.Context, words) (any, error) {
		return func(_ context.Context, a words) (any, error) { return f(a), nil }
	}
	return loader.Plugin{Name: "lowpkg", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			loader.F("owner", of(func(a words) any {
				return map[any]string{"/etc/vimrc": "vim", "/etc/zshrc": "vim"}[a.Args[0]]
			})),
			loader.F("checksum", of(func(a words) any { return data.NewMap(a.Args[0], true) })),
			loader.F("diff", of(func(a words) any {
				if a.Args[1] == "/etc/zshrc" {
					return ""
				}
				return "diff of " + data.Str(a.Args[0]) + " " + data.Str(a.Args[1])
			})),
			loader.F("info", of(func(a words) any {
				if a.Args[0] == "zsh" {
					return data.NewMap("zsh", []any{data.NewMap("edition", "5.6-3"),
						data.NewMap("epoch", "2", "edition", "2:5.5-1")})
				}
				return data.NewMap(a.Args[0], []any{data.NewMap("edition", "7.4-1")})
			})),
			loader.F("bin_pkg_info", of(func(a words) any {
				if strings.Contains(data.Str(a.Args[0]), "odd") {
					return nil
				}
				return data.NewMap("name", "vim", "version", "7.4-2")
			})),
		}}, nil
	}}
}

func partsHost(t *testing.T) *testpkg.Host {
	t.Helper()
	bin := t.TempDir()
	must(t, os.WriteFile(filepath.Join(bin, "zypper"), []byte("#!/bin/sh\n"), 0o755))
	t.Setenv("PATH", bin)
	h := testpkg.New(t, data.NewMap("os_family", "Suse", "os", "SUSE", "osarch", "x86_64"), answer,
		Plugin(), lowpkg())
	for name, text := range map[string]string{"etc/zypp/locks": locksText,
		"var/lib/suseRegister/OEM/sles": "OEM release\nmore\n", "etc/passwd": "",
		"var/cache/zypp/packages/pool/vim.rpm": "12345", "var/cache/zypp/packages/pool/odd.rpm": "",
		"var/cache/zypp/packages/pool/x.txt": ""} {
		at := filepath.Join(h.Root, name)
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		must(t, os.WriteFile(at, []byte(text), 0o644))
	}
	return h
}

// TestParts compares with the results of Salt 3006.0 for the same output of zypper and rpm; each
// call runs twice.
func TestParts(t *testing.T) {
	h := partsHost(t)
	sles := data.NewMap("name", "SLES", "version", "15.4", "release", "OEM release", "epoch", "0",
		"arch", "x86_64", "vendor", "SUSE", "productline", "sles",
		"isbase", true, "installed", true, "eol", "2015-08-01T00:00:00", "eol_t", int64(1438380000),
		"description", "SUSE Linux for servers.")
	module := data.NewMap("name", "module", "version", "15", "release", "1", "epoch", "0", "arch",
		"noarch", "isbase", false, "installed", false, "eol", "",
		"eol_t", int64(0), "description", "Module")
	for range 2 {
		h.Is([]any{sles, module}, "list_products", nil)
		h.Last("zypper --non-interactive --xmlout --no-refresh --disable-repositories products -i")
		h.Is([]any{sles, module}, "list_products", nil, "all", true)
		h.Last("zypper --non-interactive --xmlout --no-refresh products")
		h.Is(data.NewMap("removed", "2"), "clean_locks", nil)
		h.Is([]any{"vim-0:7.4-1.*", "zsh-0:5.6-3.*", "zsh-2:2:5.5-1.*", "zip-0:7.4-1.*"}, "list_holds", nil)
		h.Is([]any{"vim", "zsh", "zip"}, "list_holds", nil, "full", false)
		h.Is([]any{"vim-0:7.4-1.*"}, "list_holds", []any{"v.m"})
		h.Is(data.NewMap("vi", []any{"vim"}, "editor", []any{"vim", "nano"}), "list_provides", nil)
		asked := []any{"w3m_ssl", "vim", data.NewMap("none", "1")}
		h.Is([]any{"w3m", "vim", data.NewMap("none", "1")}, "resolve_capabilities", []any{asked},
			"resolve_capabilities", true)
		h.Is(asked, "resolve_capabilities", []any{asked})
		h.Is([]any{"sshd", "cron"}, "services_need_restart", nil)
		h.Is(data.NewMap("base", data.NewMap("installed", true, "summary", "Base")),
			"list_installed_patterns", nil)
		h.Is(data.NewMap("vim", "7.4-1", "pattern:base", "15-1", "patch:sec", "15-1"),
			"list_pkgs", nil, "includes", []any{"pattern", "patch"})
		h.Is(data.NewMap("vim", "7.4-1", "product:SLES", "0:15.4-OEM release", "product:module",
			"0:15-1"), "list_pkgs", nil, "includes", []any{"product"})
		h.Is(data.NewMap("vim", "7.4-1"), "list_pkgs", nil)
	}
}

func TestDownloads(t *testing.T) {
	h := partsHost(t)
	vim := data.NewMap("repository-name", "Pool", "repository-alias", "pool", "path", "/cache/vim.rpm")
	for range 2 {
		h.Is(data.NewMap("vim", vim, "_error", "The following package(s) failed to download: none"),
			"download", []any{"vim", "none"})
		h.Is("salt.exceptions.SaltInvocationError: No packages specified", "download", nil)
		h.Is(data.NewMap("/nofile", "N/A", "/etc/passwd", "Not managed", "/etc/vimrc",
			"diff of /cache/vim.rpm /etc/vimrc", "/etc/zshrc", "Unchanged"), "diff",
			[]any{"/etc/vimrc", "/etc/zshrc", "/nofile", "/etc/passwd"})
		v, err := h.Call("list_downloaded", nil)
		all, _ := v.(*data.Map)
		found, _ := data.Lookup(v, "vim:7.4-2", ":")
		p, _ := found.(*data.Map)
		if err != nil || all.Len() != 1 || p.Value("size") != int64(5) ||
			p.Text("path") != filepath.Join(h.Root, "var/cache/zypp/packages/pool/vim.rpm") ||
			!strings.Contains(p.Text("creation_date_time"), "T") {
			t.Errorf("list_downloaded gives %s, %v", data.Repr(v), err)
		}
	}
	if v, err := h.Call("download", []any{"--root=/x"}); err == nil {
		t.Errorf("an option counts as a package: %s", data.Repr(v))
	}
}
