package packages

import "testing"

func TestNamesAreNoOptions(t *testing.T) {
	for name, good := range map[string]bool{
		"bash": true, "libstdc++6": true, "foo-": true, "g++=4:12*": true, "*": true,
		"/usr/bin/x": true, "": true, "-y": false, "--allow-unauthenticated": false,
		"-oAPT::Update::Pre-Invoke::=id": false, "--eval=%(id)": false, "a install\nb": false, "a\x00": false,
	} {
		if err := Names("zsh", name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
		if err := Names[any](name); (err == nil) != good {
			t.Errorf("%q as a value: %v", name, err)
		}
	}
}
