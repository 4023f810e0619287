package pkg_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/steps"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/states/pkg"
)

// fileManagers simulate dpkg and apt, including packages from files and modified files. The lines
// of DIR/status have selection, state, name and version, those of DIR/repo name and version;
// DIR/verify has the output of dpkg --verify.
var fileManagers = map[string]string{
	"dpkg-query": `awk '{print $1, "ok", $2, $3, $4, "amd64"}' DIR/status`,
	"dpkg": `case $1 in
--print-architecture) echo amd64;;
--print-foreign-architectures) ;;
--get-selections) awk '{print $3 "\t" $1}' DIR/status;;
--set-selections) while read -r name wish; do awk -v n="$name" -v w="$wish" '$3 == n {$1 = w} {print}' DIR/status > DIR/s; mv DIR/s DIR/status; done;;
-I|--info) exec dpkg-deb -I "$2";;
--verify) cat DIR/verify 2>/dev/null; test ! -s DIR/verify;;
*) echo "dpkg: $*" >> DIR/calls;;
esac`,
	"apt-cache": `shift 2; for name; do v=$(awk -v n="$name" '$1 == n {print $2}' DIR/repo); test -z "$v" || printf '%s:\n  Installed: x\n  Candidate: %s\n  Version table:\n' "$name" "$v"; done`,
	"apt-get": `echo "$*" >> DIR/calls
action= again=
while test $# -gt 0; do
  case $1 in
  -o|-t) shift;;
  --reinstall) again=1;;
  -*) ;;
  install|remove|purge|update|upgrade) action=$1;;
  broken) echo "E: Unable to locate package broken" >&2; exit 100;;
  *) if test -f "$1"; then name=$(dpkg-deb -f "$1" Package); version=$(dpkg-deb -f "$1" Version); else name=${1%%=*}; version=$(awk -v n="$name" '$1 == n {print $2}' DIR/repo); test "$1" = "$name" || version=${1#*=}; fi
    test -z "$again" || rm -f DIR/verify
    awk -v n="$name" '$3 != n' DIR/status > DIR/s
    case $action in install) echo "install installed $name $version" >> DIR/s;; esac
    mv DIR/s DIR/status;;
  esac
  shift
done`,
}

// TestAsSalt installs packages from files, verifies them and compares versions. The results are
// those of Salt 3007.10, because 3006.0 aborts if a package from a file is already installed.
func TestAsSalt(t *testing.T) {
	need.Program(t, "dpkg-deb", "awk")
	path := os.Getenv("PATH")
	steps.Run{States: func(t *testing.T, dir string) *loader.Registry {
		bin, known := filepath.Join(dir, "bin"), filepath.Join(dir, "root/var/lib/dpkg")
		for _, at := range []string{bin, known} {
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for name, body := range fileManagers {
			text := "#!/bin/sh\n" + strings.ReplaceAll(body, "DIR", filepath.Join(dir, "out")) + "\n"
			if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(filepath.Join(dir, "out/status"), filepath.Join(known, "status")); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", bin+":"+path)
		opts := data.NewMap("id", "web1", "file_client", "local", "local", true,
			"cachedir", filepath.Join(dir, "cache"), "fileserver_backend", []any{"roots"},
			"file_roots", data.NewMap("base", []any{filepath.Join(dir, "srv")}), "hash_type",
			"sha256", "file_buffer_size", int64(262144))
		env := &loader.Env{Opts: opts, Root: filepath.Join(dir, "root"),
			Grains: func() *data.Map {
				return data.NewMap("kernel", "Linux", "os", "Debian", "os_family", "Debian",
					"osarch", "amd64", "cpuarch", "x86_64", "osfinger", "Debian-12")
			}}
		funcs, err := loader.NewRegistry(env, modules.Plugins(modules.Brought()))
		if err != nil {
			t.Fatal(err)
		}
		states, err := loader.NewRegistry(funcs.Env(), []loader.Plugin{pkg.Plugin()})
		if err != nil {
			t.Fatal(err)
		}
		return states
	}}.Check(t, "testdata/salt.json")
}
