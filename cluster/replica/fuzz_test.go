package replica

import (
	"slices"
	"strings"
	"testing"
)

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"minions/web1/data", "../x", "a//b", `a\b/c`, "a/.b", "a/b\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		bank, key, err := split(name)
		if err != nil {
			return
		}
		if again, err := join(bank, key); again != name || err != nil {
			t.Errorf("%q becomes %q, %v", name, again, err)
		}
		for part := range strings.SplitSeq(name, "/") {
			if part == "" || part[0] == '.' || strings.ContainsAny(part, "\\\x00") {
				t.Errorf("%q is accepted", name)
			}
		}
	})
}

func FuzzJournal(f *testing.F) {
	f.Add(encode("minions/web1/data") + "*\n" + encode("a/b") + "YS9")
	f.Fuzz(func(t *testing.T, text string) {
		names, all := readJournal(text)
		again := ""
		if all {
			again = everything + "\n"
		}
		for _, name := range names {
			again += encode(name)
		}
		if got, gotAll := readJournal(again); !slices.Equal(got, names) || gotAll != all {
			t.Errorf("%q, %t becomes %q, %t", names, all, got, gotAll)
		}
	})
}

func FuzzPosition(f *testing.F) {
	f.Add(formatPosition("ABC", 12))
	f.Add("1 ABC 12")
	f.Fuzz(func(t *testing.T, text string) {
		stream, position, ok := parsePosition(text)
		if !ok {
			return
		}
		s, p, ok := parsePosition(formatPosition(stream, position))
		if s != stream || p != position || !ok {
			t.Errorf("%q, %d becomes %q, %d, %t", stream, position, s, p, ok)
		}
	})
}
