package aptpkg

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
)

type cmpArgs struct {
	Pkg1, Pkg2  any
	IgnoreEpoch bool      `default:"False"`
	Kwargs      *data.Map `kwargs:"kwargs"`
}

// versionCmp compares two versions by dpkg's rules. It returns -1 if the first is lower, 0 if they
// are equal, 1 if it is higher, and None if one of them is not a valid version.
//
// ignore_epoch : False
//
//	Ignore the epochs: compare only the parts after the first colon.
//
// CLI Example:
//
//	salt '*' pkg.version_cmp '0.2.4-0ubuntu1' '0.2.4.1-0ubuntu1'
func (m *module) versionCmp(_ context.Context, a cmpArgs) (any, error) {
	x, y := data.Str(a.Pkg1), data.Str(a.Pkg2)
	if a.IgnoreEpoch {
		x, y = packages.WithoutEpoch(x), packages.WithoutEpoch(y)
	}
	if order, ok := compare(x, y); ok {
		return int64(order), nil
	}
	return nil, nil
}

// A debian is a version as dpkg reads it: [epoch:]upstream[-revision].
type debian struct {
	epoch              int64
	upstream, revision string
}

// compare compares two versions; ok is false if one of them is invalid. An empty version is lower
// than all others.
func compare(a, b string) (order int, ok bool) {
	x, okX := parse(a)
	y, okY := parse(b)
	if !okX || !okY {
		return 0, false
	}
	if x == nil || y == nil {
		return cmp.Compare(known(x), known(y)), true
	}
	return cmp.Or(cmp.Compare(x.epoch, y.epoch), compareParts(x.upstream, y.upstream),
		compareParts(x.revision, y.revision)), true
}

func known(d *debian) int {
	if d == nil {
		return 0
	}
	return 1
}

// parse parses a version, nil for an empty one. ok is false for versions that dpkg refuses to
// compare, but true for those that it only warns about.
func parse(text string) (*debian, bool) {
	if text == "" || text == "<unknown>" {
		return nil, true
	}
	text = strings.Trim(text, " \t\n\v\f\r")
	d := &debian{upstream: text}
	if epoch, rest, ok := strings.Cut(text, ":"); ok {
		n, err := strconv.ParseInt(epoch, 10, 32)
		if err != nil || n < 0 {
			return nil, false
		}
		d.epoch, d.upstream = n, rest
	}
	if i := strings.LastIndexByte(d.upstream, '-'); i >= 0 {
		d.upstream, d.revision = d.upstream[:i], d.upstream[i+1:]
		if d.revision == "" {
			return nil, false
		}
	}
	if d.upstream == "" || strings.ContainsAny(text, " \t\n\v\f\r") {
		return nil, false
	}
	return d, true
}

// compareParts compares two upstream versions or revisions. It alternates between runs of
// non-digits, in which letters sort first and the tilde sorts before the end, and numbers.
func compareParts(a, b string) int {
	for a != "" || b != "" {
		for a != "" && !digit(a[0]) || b != "" && !digit(b[0]) {
			if order := cmp.Compare(weight(a), weight(b)); order != 0 {
				return order
			}
			a, b = rest(a), rest(b)
		}
		x, y := number(a), number(b)
		a, b = a[len(x):], b[len(y):]
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		if order := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); order != 0 {
			return order
		}
	}
	return 0
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// weight returns the sort order of the first character of a string.
func weight(s string) int {
	switch {
	case s == "" || digit(s[0]):
		return 0
	case s[0] == '~':
		return -1
	case 'a' <= s[0]|0x20 && s[0]|0x20 <= 'z':
		return int(s[0])
	}
	return int(s[0]) + 256
}

// rest returns a string without its first character.
func rest(s string) string { return s[min(1, len(s)):] }

// number returns the leading digits of a string.
func number(s string) string {
	i := 0
	for i < len(s) && digit(s[i]) {
		i++
	}
	return s[:i]
}
