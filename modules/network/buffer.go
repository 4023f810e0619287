package network

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

const ethtool = "/sbin/ethtool"

// hasEthtool reports whether the program ethtool is available.
func (m *module) hasEthtool() (bool, error) {
	if m.onLinux() != nil {
		return false, nil
	}
	_, err := os.Stat(filepath.Join(m.env.Root, ethtool))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// getBufsize returns the current and the maximum sizes of the buffers of an interface.
//
// CLI Example:
//
//	salt '*' network.get_bufsize eth0
func (m *module) getBufsize(ctx context.Context, a ifaceArgs) (any, error) {
	if there, err := m.hasEthtool(); err != nil || !there {
		return data.NewMap(), err
	}
	out, err := m.output(ctx, ethtool, "-g", a.Iface)
	if err != nil {
		return nil, err
	}
	return bufferSizes(out), nil
}

// bufferSizes parses the output of ethtool -g.
func bufferSizes(out string) *data.Map {
	form := regexp.MustCompile(`^(.+):\s+(\d+)$`)
	sizes, suffix := data.NewMap("result", false), "max-"
	for line := range strings.SplitSeq(out, "\n") {
		if found := form.FindStringSubmatch(line); found != nil {
			if n, err := strconv.ParseInt(found[2], 10, 64); err == nil {
				sizes.Set(strings.ReplaceAll(strings.ToLower(found[1]), " ", "-")+suffix, n)
				sizes.Set("result", true)
			}
		} else if strings.HasSuffix(line, "maximums:") {
			suffix = "-max"
		} else if strings.HasSuffix(line, "settings:") {
			suffix = ""
		}
	}
	if sizes.Value("result") == false {
		sizes.Set("comment", out)
	}
	return sizes
}

type modBufsizeArgs struct {
	Iface  string
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// modBufsize sets the sizes of the buffers of an interface: rx, tx, rx-mini and rx-jumbo.
//
// CLI Example:
//
//	salt '*' network.mod_bufsize eth0 tx=256 rx=512
func (m *module) modBufsize(ctx context.Context, a modBufsizeArgs) (any, error) {
	if there, err := m.hasEthtool(); err != nil || !there {
		return false, err
	}
	no := func(text string) (any, error) { return data.NewMap("result", false, "comment", text), nil }
	var sizes []string
	for _, name := range []string{"rx", "tx", "rx-mini", "rx-jumbo"} {
		if v := a.Kwargs.Value(name); v != nil {
			sizes = append(sizes, name, data.Str(v))
		}
	}
	switch {
	case len(a.Args) > 0 && a.Kwargs.Len() > 0:
		return no("Unknown arguments: " + strings.Join(data.Texts(a.Args), " "))
	case len(sizes) == 0:
		return no("Requires rx=<val> tx==<val> rx-mini=<val> and/or rx-jumbo=<val>")
	case strings.HasPrefix(a.Iface, "-"):
		return nil, loader.Invocation("%s is not an interface name", data.Repr(a.Iface))
	}
	out, err := m.output(ctx, append([]string{ethtool, "-G", a.Iface}, sizes...)...)
	if err != nil {
		return nil, err
	}
	if out != "" {
		return no(out)
	}
	return data.NewMap("result", true, "comment", strings.Join(sizes, " ")), nil
}
