package iptables

import "testing"

func FuzzParse(f *testing.F) {
	f.Add("*filter\n:INPUT ACCEPT [0:0]\n-A INPUT ! -s 1.1.1.1 -m comment --comment \"a b\" -j X\nCOMMIT\n")
	f.Add(":X - [1:2]\n-A X\n*nat\n-A PREROUTING --to 'x\n")
	f.Fuzz(func(t *testing.T, text string) {
		tables, err := parse(text)
		if (tables == nil) == (err == nil) {
			t.Fatalf("%q returned %v, %v", text, tables, err)
		}
	})
}

func FuzzPositive(f *testing.F) {
	f.Add("!not x", "not")
	f.Fuzz(func(t *testing.T, value, _ string) {
		if got := positive(value); len(got) > len(value) {
			t.Fatalf("%q becomes %q", value, got)
		}
	})
}
