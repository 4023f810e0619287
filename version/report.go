package version

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
)

// Report returns the output of PROGRAM --versions-report, in the layout of versions_report in
// salt/version.py: the Salt release that this program replaces and its own version, the Go version,
// the libraries in this program, the system.
func Report() string {
	goVersion := row{"Go", strings.TrimPrefix(runtime.Version(), "go")}
	sections := []section{
		{"Salt Version", []row{{"Brine", number}, {"Salt", salt}}},
		{"Go Version", []row{goVersion}},
		{"Dependency Versions", dependencies()},
		{"System Versions", system()},
	}
	width := len("Not Installed")
	for _, s := range sections {
		for _, r := range s.rows {
			width = max(width, len(r.name))
		}
	}
	var b strings.Builder
	for _, s := range sections {
		fmt.Fprintf(&b, "%s:\n", s.title)
		for _, r := range s.rows {
			fmt.Fprintf(&b, "%*s: %s\n", width+1, r.name, r.value)
		}
		b.WriteString(" \n")
	}
	return b.String()
}

type row struct{ name, value string }

type section struct {
	title string
	rows  []row
}

// dependencies returns the modules that were built into this program.
func dependencies() []row {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var rows []row
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		rows = append(rows, row{strings.TrimPrefix(m.Path, "github.com/"),
			strings.TrimPrefix(m.Version, "v")})
	}
	sort.Slice(rows, func(i, j int) bool {
		return strings.ToLower(rows[i].name) < strings.ToLower(rows[j].name)
	})
	return rows
}

func system() []row {
	release := osRelease()
	name, dist := release["NAME"], release["ID"]
	if v := release["VERSION_ID"]; v != "" {
		name, dist = name+" "+v, dist+" "+v
	}
	var rows []row
	for _, r := range []row{
		{"dist", dist},
		{"machine", machine()},
		{"release", kernelRelease()},
		{"system", strings.ToUpper(runtime.GOOS[:1]) + runtime.GOOS[1:]},
		{"version", name},
	} {
		if r.value != "" {
			rows = append(rows, r)
		}
	}
	return rows
}

// machine returns the machine name of uname for the Go architecture.
func machine() string {
	switch runtime.GOARCH {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	case "386":
		return "i686"
	}
	return runtime.GOARCH
}

// osRelease parses /etc/os-release; it is empty if there is no such file.
func osRelease() map[string]string {
	values := map[string]string{}
	f, err := os.Open("/etc/os-release")
	if err != nil {
		return values
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if key, value, ok := strings.Cut(s.Text(), "="); ok {
			values[key] = strings.Trim(value, `"'`)
		}
	}
	return values
}

func kernelRelease() string {
	b, _ := os.ReadFile("/proc/sys/kernel/osrelease") // missing on other systems
	return strings.TrimSpace(string(b))
}
