package debianip

import (
	"strings"
	"testing"
)

// FuzzRead reads any text as /etc/network/interfaces. What is written of it reads the same again.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"auto lo eth1\niface lo inet loopback\niface eth1 inet static\n" +
			"\taddress 10.0.0.5/24\n\taddress 10.0.0.6/24\n\tup x y\n",
		"iface eth0 inet6 auto\n  privext 2\n  link-speed 10\n  bond-mode 4\n  bridge_ports a b\n",
		"iface a b\n", "source\n", " x\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		all := &adapters{by: map[string]*adapter{}}
		if all.read(src) != nil {
			return
		}
		once := all.text()
		again := &adapters{by: map[string]*adapter{}}
		if err := again.read(once); err != nil {
			t.Fatalf("%q is written as %q: %v", src, once, err)
		}
		if twice := again.text(); !equal(once, twice) {
			t.Errorf("%q is written as %q, and then as %q", src, once, twice)
		}
	})
}

// equal compares files by their lines: an interface that is only enabled has no lines of its own when it
// is read again.
func equal(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}
