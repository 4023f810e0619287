package process

import "testing"

func TestOperands(t *testing.T) {
	for word, good := range map[string]bool{"": true, "a": true, "a-b": true, "/-a": true,
		"-": false, "-a": false, "--": false, "--config=/tmp/x": false} {
		if err := Operands("first", word); (err == nil) != good {
			t.Errorf("%q: %v", word, err)
		}
	}
}

func TestPlainOperands(t *testing.T) {
	for word, good := range map[string]bool{"": true, "a b": true, "-a": false, "a\n": false, "a\rb": false,
		"a\x00": false, "a\n-b": false} {
		if err := PlainOperands("first", word); (err == nil) != good {
			t.Errorf("%q: %v", word, err)
		}
	}
}
