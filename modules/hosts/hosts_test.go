package hosts

import "testing"

func FuzzParse(f *testing.F) {
	f.Add("# hosts\n127.0.0.1 localhost # here\n#\n::1\n", "::1", "a")
	f.Fuzz(func(t *testing.T, text, ip, name string) {
		once := render(parse(text))
		if again := render(parse(once)); again != once {
			t.Errorf("%q becomes %q, then %q", text, once, again)
		}
		if left := withoutName(withoutName(text, ip, name), ip, name); left != withoutName(text, ip, name) {
			t.Errorf("%q without %q of %q becomes %q", text, name, ip, left)
		}
		if line := ip + "\t\t" + name + "\n"; withLine(withLine(text, ip, line), ip, line) == "" {
			t.Error("nothing is left")
		}
	})
}
